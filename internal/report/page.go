package report

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the built page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
)

var (
	//go:embed assets/report.js
	script string
	//go:embed assets/report.css
	styles string
)

// WriteHTML writes the whole report.
//
// Names in it may come from any file. JSON inside a script element is safe because
// encoding/json writes < as \u003c; and the content security policy in the head allows only the
// script whose hash it names, and no requests at all.
func (r *Report) WriteHTML(w io.Writer) error {
	summary, err := json.Marshal(&r.Summary)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, head, contentPolicy(), html.EscapeString(r.title()), styles)
	b.WriteString(`<script type="application/json" id="summary">`)
	b.Write(summary)
	b.WriteString("</script>\n")
	chunks(b, "scenario", r.scenarios)
	chunks(b, "run", r.runs)
	fmt.Fprintf(b, "<script>%s</script>\n</body>\n</html>\n", script)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="%s">
<link rel="icon" href="data:image/svg+xml,%%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%%3E%%3Ccircle cx='8' cy='8' r='5' fill='none' stroke='%%230b6fb8' stroke-width='1.6'/%%3E%%3Cpath d='M1 8h14' stroke='%%230b6fb8' stroke-width='1.6'/%%3E%%3C/svg%%3E">
<title>%s</title>
<style>%s</style>
</head>
<body>
<noscript>This report draws its tables and charts with the script that it contains; allow it to run.
Nothing is loaded from anywhere.</noscript>
`

func (r *Report) title() string {
	if r.Summary.Suite == "" {
		return "Loadline report"
	}
	return "Loadline report: " + r.Summary.Suite
}

// contentPolicy allows this page's script, styles and inline images.
func contentPolicy() string {
	return fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'",
		hashOf(script), hashOf(styles))
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// chunks are elements that the browser neither runs nor reads until the page asks for one by
// its name.
func chunks(b *bufio.Writer, kind string, list []string) {
	for i, text := range list {
		fmt.Fprintf(b, `<script type="text/plain" id="%s-%d">%s</script>`+"\n", kind, i, text)
	}
}
