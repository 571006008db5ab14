//go:build js

// Command loadline-wasm is the sandbox's engine for a browser: GOOS=js GOARCH=wasm. It gives the page's
// worker two functions and waits.
//
//	loadlineSettings(json) -> what is wrong with the settings; "" = nothing
//	loadlineAnswer(json) -> the answer to a message of the page, as JSON
package main

import (
	"context"
	"encoding/json"
	"syscall/js"

	"github.com/loadline/loadline/internal/sandbox"
)

func main() {
	desk := sandbox.NewDesk(sandbox.Settings{})
	js.Global().Set("loadlineSettings", js.FuncOf(func(_ js.Value, args []js.Value) any {
		var s sandbox.Settings
		if err := json.Unmarshal([]byte(text(args)), &s); err != nil {
			return "settings.json: " + err.Error()
		}
		if err := s.Validate(); err != nil {
			return "settings.json: " + err.Error()
		}
		desk.Close()
		desk = sandbox.NewDesk(s)
		return ""
	}))
	js.Global().Set("loadlineAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(desk.Answer(context.Background(), []byte(text(args))))
	}))
	select {}
}

// text is the only argument of a function.
func text(args []js.Value) string {
	if len(args) != 1 {
		return ""
	}
	return args[0].String()
}
