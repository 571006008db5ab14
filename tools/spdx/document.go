// Package spdx writes software bills of materials in SPDX 2.3, as JSON: the programs with their
// digests, the Go modules linked into them as their build information lists them, the Go
// standard library, and the npm packages of the report's page.
//
// The same programs give the same bytes. Where a licence is not certain it is NOASSERTION, which
// is SPDX's word for unknown.
//
// Reading order: document.go (the format), programs.go (Go modules), npm.go, licence.go.
package spdx

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Unknown is what SPDX writes for what is not known.
const Unknown = "NOASSERTION"

// Document is an SPDX document.
type Document struct {
	Version       string         `json:"spdxVersion"`
	DataLicence   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      Creation       `json:"creationInfo"`
	Packages      []Package      `json:"packages"`
	Relationships []Relationship `json:"relationships"`
}

// Creation says when and by what the document was made.
type Creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// Package is a program, a module or an npm package.
type Package struct {
	Name             string      `json:"name"`
	ID               string      `json:"SPDXID"`
	Version          string      `json:"versionInfo,omitempty"`
	Download         string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	Checksums        []Checksum  `json:"checksums,omitempty"`
	LicenceConcluded string      `json:"licenseConcluded"`
	LicenceDeclared  string      `json:"licenseDeclared"`
	Copyright        string      `json:"copyrightText"`
	Purpose          string      `json:"primaryPackagePurpose,omitempty"`
	Comment          string      `json:"comment,omitempty"`
	References       []Reference `json:"externalRefs,omitempty"`
}

// Checksum of a package's file.
type Checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

// Reference is a package URL, by which scanners look up vulnerabilities.
type Reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

// Relationship of two elements, by their ids.
type Relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// Relationships that are used.
const (
	describes     = "DESCRIBES"
	contains      = "CONTAINS"
	dependsOn     = "DEPENDS_ON"
	devDependency = "DEV_DEPENDENCY_OF"
)

const documentID = "SPDXRef-DOCUMENT"

// newDocument begins a document.
func newDocument(name string, created time.Time) *Document {
	return &Document{
		Version: "SPDX-2.3", DataLicence: "CC0-1.0", ID: documentID, Name: name,
		Creation: Creation{created.UTC().Format(time.RFC3339), []string{"Tool: loadline-sbom", "Organization: Loadline"}},
	}
}

// add adds a package once, and returns its id.
func (d *Document) add(p Package) string {
	p.ID = "SPDXRef-" + idOf(p.Name, p.Version)
	if !slices.ContainsFunc(d.Packages, func(q Package) bool { return q.ID == p.ID }) {
		p.Download = cmp.Or(p.Download, Unknown)
		p.LicenceConcluded, p.LicenceDeclared = Unknown, cmp.Or(p.LicenceDeclared, Unknown)
		p.Copyright = Unknown
		d.Packages = append(d.Packages, p)
	}
	return p.ID
}

func (d *Document) relate(element, kind, related string) {
	r := Relationship{element, kind, related}
	if !slices.Contains(d.Relationships, r) {
		d.Relationships = append(d.Relationships, r)
	}
}

// letters that an SPDX id may not have.
var letters = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// idOf a name and a version. Names that differ only in letters that ids may not have get
// different ids by their digest.
func idOf(name, version string) string {
	text := name + "-" + version
	plain := letters.ReplaceAllString(text, "-")
	if plain == text {
		return plain
	}
	sum := sha256.Sum256([]byte(text))
	return plain + "-" + hex.EncodeToString(sum[:4])
}

// finish sorts the document and gives it a namespace, which must be another one for another
// document: it has the digest of the content.
func (d *Document) finish() error {
	slices.SortFunc(d.Packages, func(a, b Package) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(d.Relationships, func(a, b Relationship) int {
		return cmp.Or(cmp.Compare(a.Element, b.Element), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Related, b.Related))
	})
	d.Namespace = ""
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	d.Namespace = "https://loadline.dev/spdx/" + letters.ReplaceAllString(d.Name, "-") + "-" + hex.EncodeToString(sum[:16])
	return d.Validate()
}

// Write writes the document as JSON.
func (d *Document) Write(w io.Writer) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

var idPattern = regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`)

// Validate checks the facts of SPDX 2.3 that the document must meet, and names every fault.
func (d *Document) Validate() error {
	var faults []error
	fault := func(format string, values ...any) { faults = append(faults, fmt.Errorf(format, values...)) }
	if d.Version != "SPDX-2.3" || d.DataLicence != "CC0-1.0" || d.ID != documentID {
		fault("version %q, data licence %q, id %q: must be SPDX-2.3, CC0-1.0, %s", d.Version, d.DataLicence, d.ID, documentID)
	}
	if d.Name == "" || !strings.HasPrefix(d.Namespace, "https://") || strings.Contains(d.Namespace, "#") {
		fault("name %q, namespace %q: must be a name and a URI without #", d.Name, d.Namespace)
	}
	if _, err := time.Parse("2006-01-02T15:04:05Z", d.Creation.Created); err != nil || len(d.Creation.Creators) == 0 {
		fault("created %q by %q: must be an instant in UTC and at least one creator", d.Creation.Created, d.Creation.Creators)
	}
	known := map[string]bool{documentID: true}
	for _, p := range d.Packages {
		if !idPattern.MatchString(p.ID) || known[p.ID] {
			fault("id %q: must be SPDXRef- and letters, digits, . and -, once", p.ID)
		}
		known[p.ID] = true
		if p.Name == "" || p.Download == "" || p.LicenceConcluded == "" || p.LicenceDeclared == "" {
			fault("package %q: must have a name, a download location and licences, or %s", p.ID, Unknown)
		}
	}
	described := 0
	for _, r := range d.Relationships {
		if !known[r.Element] || !known[r.Related] {
			fault("%s %s %s: must name elements of the document", r.Element, r.Type, r.Related)
		}
		if r.Element == documentID && r.Type == describes {
			described++
		}
	}
	if described == 0 {
		fault("the document describes nothing: must have at least one relationship %s", describes)
	}
	return errors.Join(faults...)
}
