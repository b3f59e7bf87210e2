// Package forecast says what a plan is expected to cost and to take before it runs, and
// which limits cannot suffice for it however well everything goes. It is pure: plans and
// events in, figures and words out.
package forecast
