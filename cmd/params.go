package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/textfmt"
)

// paramFlags are the values for the parameters of a plan, each NAME=VALUE or @FILE.
type paramFlags []string

func (o *paramFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVar((*[]string)(o), "set", nil,
		"NAME=VALUE: the value of a parameter of the plan, or @FILE: a JSON or YAML file of values, "+
			"before which those by name count (repeatable)")
}

// given returns the values of the flag, those by name behind those of files.
func (o *paramFlags) given() (given []plan.GivenParam, err error) {
	var named []plan.GivenParam
	for _, text := range *o {
		file, isFile := strings.CutPrefix(text, "@")
		if !isFile {
			one, err := plan.ParseParam("--set", text)
			if err != nil {
				return nil, usage("%s", err)
			}
			named = append(named, one)
			continue
		}
		text, err := os.ReadFile(file)
		var all []plan.GivenParam
		if err == nil {
			all, err = plan.ParseParams(file, text)
		}
		if err != nil {
			return nil, usage("--set: %s", err)
		}
		given = append(given, all...)
	}
	return append(given, named...), nil
}

// load reads a plan with the values of the flag, and returns these values. run is as in planfile.Load. If required is
// true, each parameter must have a value.
func (o *paramFlags) load(path, run string, required bool) (*plan.Plan, []plan.Diagnostic, []plan.GivenParam, error) {
	given, err := o.given()
	if err != nil {
		return nil, nil, nil, err
	}
	p, diags, err := planfile.LoadWith(path, run, plan.ParamOptions{Given: given, Required: required})
	return p, diags, given, err
}

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
