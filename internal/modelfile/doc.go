// Package modelfile keeps a trained model in one file: its weights, and a card
// that says what it is, what it was trained on and how good it was.
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
// A tensor is named NETWORK.TENSOR after [Card.Networks]; arrays without a
// network, such as an optimiser's memory, are "array.NAME".
//
// [Write] makes a file appear whole or not at all. [Read] takes nothing on
// trust: it refuses what is damaged, foreign, newer, wrong-shaped, not finite or
// changed since, reports what is wrong and what to do, and allocates no more than
// the file is long. [Save] and [Load] are for rooms with models of a kind of their
// own. Reading order: card.go, file.go, write.go, read.go, header.go, kept.go,
// embed.go (a model within the file of another).
package modelfile
