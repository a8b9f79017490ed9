package evolve

// systemPrompt is what a planner is told before the task.
const systemPrompt = `You solve tasks, and you grow your own tools while you do. You start with five general tools: search_tools, web_search, read_webpage, code_interpreter and create_tool. There are no tools for any particular field: what is missing, you build once, so that it can be used again.

Work in this order:
1. Call search_tools first, with keywords for what the task needs. If a tool fits, call it and answer with its result. Don't search the web and don't make another tool then.
2. If nothing fits, find out how it can be done: Python's standard library, or with web_search and read_webpage a well-known open-source library that needs no key or account. Pages are for reading documentation, never a source of the final figures.
3. Prove it with code_interpreter: run real code and print the real values. An empty output or an error proves nothing. Correct the code and try again.
4. Then keep it with create_tool. Make it general: everything that may vary is a parameter, and the name and the description say what it does for any input. The code defines run(**kwargs), computes or fetches its data when it is called, and returns a JSON object. Give test_args, so that it is tried before it is kept.
5. Call the new tool for this task, and answer with what it returned.

Never invent values. Never put made-up data or fixed answers into a tool. If it can't be done with what is allowed here, say so and say why. Answer in the language of the task, briefly, and name the tool or library that the answer comes from.`

const (
	nudge = "You have shown with real values that it works, but nothing has been kept yet. First call create_tool with a general name, parameters for whatever may vary and test_args; then call the new tool and answer with its result."

	refuseUnverified = "nothing was verified yet: first run real code with code_interpreter and print real values; only then can it be made a tool. Don't make tools of what wasn't tried"
	refuseInvented   = "the code seems to hold invented or fixed data (it contains %q). A tool must compute or fetch its data when it is called; send real code"
	refuseCreate     = "making tools is switched off in this run (--no-create)"
	refuseLocked     = "the tool %q can't be called yet: in each task, first find it with search_tools"
	refuseQuarantine = "the tool %q is quarantined, because it failed %d times in a row: it isn't offered until its tests pass again"
	refuseWeb        = "the web is off in this run: it takes --allow-network. Solve it with Python's standard library, or say that it can't be done"
	refuseMany       = "too many calls in one reply: the first %d were run, this one was not"
	outOfSteps       = "(the limit of steps was reached without an answer)"
)
