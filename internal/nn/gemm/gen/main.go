// Command gen writes the AVX2 and FMA kernels of package gemm. It is a module
// of its own so that the assembler generator never becomes a dependency of
// Loadline; `go generate` in the parent folder runs it.
package main

// Dot imports are avo's convention: it reads as a small assembly language.

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64,!purego")
	laneMaskTable()

	panels()
	vectorTimesMatrix()
	matrixTimesVector()
	transposeBlocks()

	exponentials()
	activationGradients()
	vectorArithmetic()
	adamStep()
	layerNorm()
	gruCells()
	fmaPeak()

	Generate()
}
