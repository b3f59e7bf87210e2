package cmd

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
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

// load reads a plan with the values of the flags, and returns these values. run is as in planfile.Load.
func (o *paramFlags) load(path, run string) (*plan.Plan, []plan.Diagnostic, []plan.GivenParam, error) {
	given, err := o.given()
	if err != nil {
		return nil, nil, nil, err
	}
	p, diags, err := planfile.LoadWith(path, run, plan.ParamOptions{Given: given})
	return p, diags, given, err
}

// loadAll reads a plan without a run, each of whose parameters must have a value.
func (o *paramFlags) loadAll(path string) (*plan.Plan, error) {
	given, err := o.given()
	if err != nil {
		return nil, err
	}
	p, diags, err := planfile.LoadWith(path, "", plan.ParamOptions{Given: given, Required: true})
	if err == nil && p == nil {
		err = usererr.Plan(diags)
	}
	return p, err
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
