// Package modelfile stores a trained model in one file: its weights, and a card with its kind,
// training and results.
//
// The file is safetensors, which Python's library of that name reads too: eight
// bytes of little-endian header length, a JSON header with the type, shape and
// place of every tensor, then the tensors. The card is in the header's
// __metadata__, which is a map of strings:
//
//	format        "loadline-model"
//	version       "1"
//	card          the Card, as JSON
//	checksum      SHA-256, in hex, of all of the above and of every tensor's
//	              name, shape and bytes
//
// A tensor is named NETWORK.TENSOR after [Card.Networks]; arrays without a network, such as an
// optimiser's state, are "array.NAME".
//
// [Write] writes atomically. [Read] trusts nothing: it rejects files that are damaged, foreign,
// newer, wrong-shaped, not finite or changed since, reports what is wrong and what to do, and
// allocates no more than the file is long. [Save] and [Load] are for packages with models of
// their own kind. Reading order: card.go, file.go, write.go, read.go, header.go, kept.go,
// embed.go (a model within the file of another).
package modelfile
