package serve

import (
	"embed"
	"fmt"
)

// assets are built by make generate.
//
//go:embed assets
var assets embed.FS

// Where the engine runs, as the page asks for it.
const (
	onServer  = "server"
	inBrowser = "wasm"
)

// contentPolicy allows the page's own files, and in the browser the engine.
func contentPolicy(engine string) string {
	scripts := "'self'"
	if engine == inBrowser {
		scripts += " 'wasm-unsafe-eval'"
	}
	return "default-src 'none'; script-src " + scripts + "; style-src 'self'; img-src data:; connect-src 'self'; worker-src 'self'; " +
		"base-uri 'none'; form-action 'none'"
}

// index is the page. Everything but the scripts' place in it is made by the script.
func index(engine string) []byte {
	return fmt.Appendf(nil, page, contentPolicy(engine), engine)
}

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="%s">
<link rel="icon" href="data:image/svg+xml,%%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%%3E%%3Ccircle cx='8' cy='8' r='5' fill='none' stroke='%%230b6fb8' stroke-width='1.6'/%%3E%%3Cpath d='M1 8h14' stroke='%%230b6fb8' stroke-width='1.6'/%%3E%%3C/svg%%3E">
<title>Loadline sandbox</title>
<link rel="stylesheet" href="sandbox.css">
<script src="sandbox.js" defer></script>
</head>
<body data-engine="%s">
<noscript>The sandbox is drawn by the script beside this page; allow it to run. Nothing is loaded from anywhere else.</noscript>
</body>
</html>
`

// pageFiles are served beside the page, with their types.
var pageFiles = map[string]string{
	"sandbox.js":  "text/javascript; charset=utf-8",
	"sandbox.css": "text/css; charset=utf-8",
}

func asset(name string) []byte {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(fmt.Sprintf("serve: %v: run make generate", err)) // the names are constants, and a test reads each
	}
	return data
}
