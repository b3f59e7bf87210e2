package cmd

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/textfmt"
)

// paramFlags are the flags with values for the parameters of a plan.
type paramFlags struct {
	set  []string // NAME=VALUE
	file string
}

func (o *paramFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&o.set, "set", nil, "NAME=VALUE: the value of a parameter of the plan (repeatable)")
	c.Flags().StringVar(&o.file, "params", "", "a file with values of parameters, JSON or YAML; --set counts before it")
}

// given returns the values of the flags.
func (o *paramFlags) given() (given []plan.GivenParam, err error) {
	if o.file != "" {
		text, err := os.ReadFile(o.file)
		if err != nil {
			return nil, usage("--params: %s", err)
		}
		if given, err = plan.ParseParams(o.file, text); err != nil {
			return nil, usage("--params %s", err)
		}
	}
	for _, text := range o.set {
		one, err := plan.ParseParam("--set", text)
		if err != nil {
			return nil, usage("%s", err)
		}
		given = append(given, one)
	}
	return given, nil
}

// load reads a plan with the values of the flags, and returns these values. run is as in planfile.Load. If required is
// true, each parameter must have a value.
func (o *paramFlags) load(path, run string, required bool) (*plan.Plan, []plan.Diagnostic, []plan.GivenParam, error) {
	given, err := o.given()
	if err != nil {
		return nil, nil, nil, err
	}
	p, diags, err := planfile.LoadWith(path, run, plan.ParamOptions{Given: given, Required: required})
	return p, diags, given, err
}

// isGiven reports whether the flags have values.
func (o *paramFlags) isGiven() bool { return o.file != "" || len(o.set) > 0 }

// printParams lists the parameters of a plan.
func printParams(w io.Writer, params []plan.Param) {
	if len(params) == 0 {
		return
	}
	fmt.Fprintln(w, "Parameters (--set NAME=VALUE):")
	for _, p := range params {
		value := "no value yet"
		if p.Value != nil {
			value = textfmt.Shorten(textfmt.Line(string(p.Value)), 60)
		}
		line := fmt.Sprintf("  %s (%s): %s", p.Name, p.Type, value)
		if p.Description != "" {
			line += "  " + textfmt.Line(p.Description)
		}
		fmt.Fprintln(w, line)
	}
}
