// Package serve shows a sandbox in a browser. Handler serves its page on loopback, with the engine in
// this program; WriteFolder writes the same page as a folder of static files, with the engine as
// WebAssembly, for a web server that runs no program.
//
// Reading order: page.go (the page and its policy), handler.go, folder.go. The page's sources are in
// web/src/sandbox.
package serve
