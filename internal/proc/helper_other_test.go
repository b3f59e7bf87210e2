//go:build unix && !linux

package proc

func enclosed(string) int { return 96 } // there are no control groups
