package evolve

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A tool's code comes into its file as a text, is compiled under a name of its own, and only when the tool is called. So
// nothing in it can close the file's own code or add a tool to the file, and describing the file runs none of it.
const wrapperHead = `"""Made by edge evolve from its library. It is written anew from there, so changes here are lost."""
import json
import sys
from types import ModuleType
from typing import Literal, Optional

from edgestudio.tools import edge_tool


def _edge_load(tool):
    module = ModuleType("evolved_" + tool["name"])
    sys.modules[module.__name__] = module
    exec(compile(tool["code"], "<tool " + tool["name"] + ">", "exec", 0, True), module.__dict__)
    if not callable(module.__dict__.get("run")):
        raise NameError("the code of " + tool["name"] + " defines no function run")
    return module.run


def _edge_call(tool, given):
    arguments = {}
    for name, value in given.items():
        if value is None and name in tool["optional"]:
            continue
        arguments[name] = json.loads(value) if value is not None and name in tool["json"] else value
    return json.loads(json.dumps(_edge_load(tool)(**arguments), default=str))
`

// wrapperTool is what the generated code must know of a tool.
type wrapperTool struct {
	Name     string   `json:"name"`
	Code     string   `json:"code"`
	Optional []string `json:"optional"`
	JSON     []string `json:"json"`
}

// wrapOptions say how a file is generated.
type wrapOptions struct {
	Packages string // a folder with installed packages, "" for none
	Eager    bool   // run each tool's top level when the file is loaded: that checks it
}

// wrap generates the tools file of some records: a function with @edge_tool for each.
func wrap(records []Record, o wrapOptions) ([]byte, error) {
	var b strings.Builder
	b.WriteString(wrapperHead)
	if o.Packages != "" {
		fmt.Fprintf(&b, "\n\nsys.path.append(%s)\n", pythonText(o.Packages))
	}
	for i, r := range records {
		list, err := signature(r.Parameters)
		if err != nil {
			return nil, err
		}
		t := wrapperTool{Name: r.Name, Code: r.Code, Optional: []string{}, JSON: []string{}}
		var declared []string
		for _, p := range list {
			text := p.Name + ": " + p.Hint
			if p.Optional {
				text += " = None"
				t.Optional = append(t.Optional, p.Name)
			}
			if p.JSON {
				t.JSON = append(t.JSON, p.Name)
			}
			declared = append(declared, text)
		}
		raw, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n\n_edge_tool_%d = json.loads(%s)\n", i, pythonText(string(raw)))
		if o.Eager {
			fmt.Fprintf(&b, "_edge_load(_edge_tool_%d)\n", i)
		}
		fmt.Fprintf(&b, "\n\n@edge_tool(name=%s, description=%s)\ndef tool_%d(%s):\n    return _edge_call(_edge_tool_%d, locals())\n",
			pythonText(r.Name), pythonText(r.Description), i, strings.Join(declared, ", "), i)
	}
	return []byte(b.String()), nil
}
