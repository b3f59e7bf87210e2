package budget

// CrossedPercents returns which of 50, 75 and 90 percent of the money limit were crossed since the cost was
// before, ascending; nil if there are none or there is no limit.
func (l *Ledger) CrossedPercents(before USD) []int {
	if l.limits.NoUSD {
		return nil
	}
	var crossed []int
	for _, percent := range [...]int{50, 75, 90} {
		if mark := percentOf(l.limits.USD, percent); before < mark && l.spent >= mark {
			crossed = append(crossed, percent)
		}
	}
	return crossed
}

// percentOf returns that percentage of an amount, rounded up, without overflow.
func percentOf(u USD, percent int) USD {
	p := USD(percent)
	return u/100*p + (u%100*p+99)/100
}
