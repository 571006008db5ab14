package cli

import (
	"os"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
)

// openShares reads the file of --shares; nil if there is none.
func openShares(path string) (*formulation.Shares, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, Usagef("--shares: %w", err)
	}
	defer file.Close()
	shares, err := formulation.ReadShares(file, path)
	if err != nil {
		return nil, Usagef("--shares: %w", err)
	}
	return shares, nil
}

// sharesFor an application by the file of --shares; nil if there is none.
func sharesFor(path string, app *loadline.App) (*formulation.Shares, error) {
	shares, err := openShares(path)
	if shares == nil {
		return nil, err
	}
	if err := shares.For(app); err != nil {
		return nil, Usagef("--shares: %w", err)
	}
	return shares, nil
}

// partialSLOs of an application by the file of --shares; nil if there is none.
func partialSLOs(path string, app *loadline.App) ([]loadline.SLO, error) {
	shares, err := sharesFor(path, app)
	if shares == nil {
		return nil, err
	}
	return formulation.NewTopology(app).With(shares).Partial(), nil
}
