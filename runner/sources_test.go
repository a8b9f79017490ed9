package runner

import "testing"

// The folder of function tools travels with the rest; a tool made by hand needs no package from elsewhere.
func TestFunctionToolsTravel(t *testing.T) {
	newBench(t).want(`@edge_tool
async def f():
    'd'
    from edgestudio.agents import FunctionTool, RunContextWrapper

    async def run(context, text):
        return context.context + text

    return await FunctionTool('t', '', {}, run).on_invoke_tool(RunContextWrapper('a'), 'b')
`, `{}`, `{"result":"ab"}`)
}
