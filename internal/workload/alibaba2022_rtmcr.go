package workload

import "time"

// Alibaba cluster-trace-microservices-v2022, MSRTMCR: what 2021 calls RTQps,
// one instance and minute a row. The call rates are min-max normalised, so the
// trace gives the shape of a load and not its height: it needs a peak. The
// mean over instances is the default, since a sum of values that were each
// divided by another constant means nothing.

var alibaba2022RTMCR = &format{
	name:    "alibaba2022-rtmcr",
	help:    "Alibaba microservices 2022 MSRTMCR: normalised call rates of service instances, 1 min, 13 days; needs a peak",
	unit:    Normalised,
	period:  time.Minute,
	combine: CombineMean,
	columns: []string{"timestamp", "msname", "msinstanceid", "nodeid",
		"providerrpc_rt", "providerrpc_mcr", "consumerrpc_rt", "consumerrpc_mcr",
		"writemc_rt", "writemc_mcr", "readmc_rt", "readmc_mcr",
		"writedb_rt", "writedb_mcr", "readdb_rt", "readdb_mcr",
		"consumermq_rt", "consumermq_mcr", "providermq_rt", "providermq_mcr",
		"http_mcr", "http_rt"},
	headed: true,
	keys:   []string{"msname", "msinstanceid", "nodeid"},
	metrics: []string{"providerrpc_mcr", "http_mcr", "consumerrpc_mcr", "writemc_mcr", "readmc_mcr",
		"writedb_mcr", "readdb_mcr", "consumermq_mcr", "providermq_mcr"},
	open: resourceRows,
}
