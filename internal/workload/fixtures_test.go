package workload

import (
	"fmt"
	"strings"
	"time"
)

// fixture is a small file of one format whose contents are known.
type fixture struct {
	format  string
	text    string
	options Options // what this format needs to become requests
	unit    Unit
	step    time.Duration
	values  []float64
	// one is a selection and the values that remain.
	one       string
	oneValues []float64
	// bad is a row with faults in the fields named.
	bad      string
	badField string
}

func proportional(rps float64) *Profile {
	p, err := ProportionalProfile(rps)
	if err != nil {
		panic(err)
	}
	return p
}

func fixtures() []fixture {
	profile := Options{Profile: proportional(100)}
	resource := func(name string) string {
		return "timestamp,msname,msinstanceid,nodeid,cpu_utilization,memory_utilization\n" +
			"60000," + name + "1,i1,n1,0.4,0.1\n" +
			"0," + name + "1,i1,n1,0.2,0.1\n" +
			"0," + name + "2,i2,n1,0.6,0.1\n" +
			"60000," + name + "2,i2,n1,0.8,0.1\n"
	}
	return []fixture{
		{
			format: "csv", text: "t_s,rps\n0,10\n10,20.5\n20,0\n", step: 10 * time.Second,
			values: []float64{10, 20.5, 0}, bad: "30,-4", badField: "rps",
		},
		{
			format: "alibaba2018-machine", options: profile, unit: Utilisation, step: 10 * time.Second,
			text: "m_1,20,50,92,,,43.04,33.08,5\nm_1,10,30,92,,,43.05,33.08,5\nm_2,20,70,92,,,43.05,33.08,5\nm_2,10," +
				",92,,,1,1,1\nm_2,10,101,92,,,1,1,1\n",
			values: []float64{0.3, 0.6}, one: "m_1", oneValues: []float64{0.3, 0.5},
			bad: "m_1,30,NaN,92,,,43.04,33.08,5", badField: "cpu_util_percent",
		},
		{
			format: "alibaba2018-container", options: profile, unit: Utilisation, step: 10 * time.Second,
			text:   "c_1,m_1,0,50,10,1,1,1,1,1,1\nc_2,m_1,0,10,10,,,,,,\nc_1,m_1,10,20,10,1,1,1,1,1,1\n",
			values: []float64{0.3, 0.2}, one: "container_id=c_1,machine_id=m_1", oneValues: []float64{0.5, 0.2},
			bad: "c_1,m_1,-5,50,10,1,1,1,1,1,1", badField: "time_stamp",
		},
		{
			format: "alibaba2021-resource", text: resource("a"), options: profile, unit: Utilisation, step: time.Minute,
			values: []float64{0.4, 0.6}, one: "a1", oneValues: []float64{0.2, 0.4},
			bad: "60000,a1,i1,n1,1.4,0.1", badField: "cpu_utilization",
		},
		{
			format: "alibaba2022-resource", text: resource("MS_"), options: profile, unit: Utilisation, step: time.Minute,
			values: []float64{0.4, 0.6}, one: "msinstanceid=i2", oneValues: []float64{0.6, 0.8},
			bad: "x,MS_1,i1,n1,0.4,0.1", badField: "timestamp",
		},
		{
			format: "alibaba2021-rtqps", step: time.Minute,
			text: ",timestamp,msname,msinstanceid,metrics,value\n0,0,a,i1,HTTP_MCR,5\n1,0,a,i2,providerRPC_MCR,7\n" +
				"2,60000,b,i3,HTTP_MCR,11\n3,0,a,i1,HTTP_RT,300\n4,0,a,i1,consumerRPC_MCR,99\n5,60000,a,i1,HTTP_MCR,1\n",
			values: []float64{12, 12}, one: "a", oneValues: []float64{12, 1},
			bad: "6,0,a,i1,HTTP_QPS,5", badField: "metric",
		},
		{
			format: "alibaba2022-rtmcr", options: Options{Peak: 80}, unit: Normalised, step: time.Minute,
			text: strings.Join(alibaba2022RTMCR.columns, ",") + "\n" +
				"0,MS_1,p0,n1,3,0.5" + strings.Repeat(",0", 16) + "\n" +
				"0,MS_2,p0,n1,3,0.3" + strings.Repeat(",0", 16) + "\n" +
				"60000,MS_1,p0,n1,3,0.8,,,,,,,,,,,,,,,," + "\n",
			values: []float64{0.4, 0.8}, one: "MS_1", oneValues: []float64{0.5, 0.8},
			bad: "0,MS_1,p0,n1,3,7" + strings.Repeat(",0", 16), badField: "providerrpc_mcr",
		},
		{
			format: "alibaba2021-callgraph", step: time.Minute,
			text: "timestamp,traceid,rpcid,um,rpctype,interface,dm,rt\n" +
				"1000,t1,0,(?),http,i,a,10\n1001,t1,0.1,a,rpc,i,b,5\n70000,t2,0,(?),http,i,a,10\n71000,t3,0,(?),http,i,b,10\n",
			values: []float64{1.0 / 60, 2.0 / 60}, one: "b", oneValues: []float64{1.0 / 60, 1.0 / 60},
			bad: "-1,t1,0,(?),http,i,a,10", badField: "timestamp",
		},
		{
			format: "alibaba2022-callgraph", step: time.Minute,
			text: "timestamp,traceid,service,rpc_id,um,uminstanceid,rpctype,interface,dm,dminstanceid,rt\n" +
				"1000,T_1,S_1,0,USER,U,http,i,a,a0,10\n61001,T_2,S_2,0,USER,U,http,i,a,a0,10\n1001,T_1,S_1,0.1,a,a0,rpc,i,b,b0,10\n",
			values: []float64{1.0 / 60, 1.0 / 60}, one: "S_2", oneValues: []float64{1.0 / 60},
			bad: "1,,S_1,0,USER,U,http,i,a,a0,10", badField: "traceid",
		},
		{
			format: "google2011", options: profile, unit: Utilisation, step: 300 * time.Second,
			text:   googleRow(600, 900, 7, 0, "0.5") + googleRow(600, 750, 7, 1, "0.2") + googleRow(750, 1050, 8, 0, "0.4"),
			values: []float64{0.5 + 0.1 + 0.2, 0.2}, one: "8", oneValues: []float64{0.2, 0.2},
			bad: strings.TrimSpace(googleRow(900, 600, 7, 0, "0.5")), badField: "end_time",
		},
		{
			format: "google2019", options: profile, unit: Utilisation, step: 300 * time.Second,
			text: `{"start_time":"600000000","end_time":"900000000","collection_id":"7","instance_index":"0",` +
				`"average_usage":{"cpus":0.25,"memory":0.1}}` + "\n" +
				`{"start_time":600000000,"end_time":900000000,"collection_id":8,"average_usage":{"cpus":"0.5"},` +
				`"cpu_usage_distribution":[1,2]}` + "\n" +
				`{"start_time":"900000000","end_time":"1200000000","collection_id":"7","average_usage":{"cpus":0.125}}` + "\n",
			values: []float64{0.75, 0.125}, one: "7", oneValues: []float64{0.25, 0.125},
			bad: `{"start_time":"600000000","end_time":"900000000","average_usage":{"cpus":-1}}`, badField: "average_usage.cpus",
		},
		{
			format: "azure2019", step: time.Minute, text: azureDay(),
			values: azureDayValues(3, 60), one: "f2", oneValues: azureDayValues(0, 60),
			bad: "o,a,f,http,x" + strings.Repeat(",0", 1439), badField: "minute 1",
		},
		{
			format: "azure2021", step: time.Minute,
			text:   "app,func,end_timestamp,duration\na,f,61.5,0.5\na,f,62,3\nb,g,119,1\n",
			values: []float64{1.0 / 60, 2.0 / 60}, one: "f", oneValues: []float64{1.0 / 60, 1.0 / 60},
			bad: "a,f,5,-1", badField: "duration",
		},
		{
			format: "azure-llm", step: time.Minute,
			text: "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 " +
				"18:16:01.0000000,1,1\r\n2023-11-16 18:16:02.5+00:00,1,1\r\n",
			values: []float64{1.0 / 60, 2.0 / 60},
			bad:    "yesterday,1,1", badField: "TIMESTAMP",
		},
	}
}

func googleRow(from, to, job, task int, cpu string) string {
	return fmt.Sprintf("%d000000,%d000000,%d,%d,42,%s,0.1,0.1,0,0,0.2,0,0,0.9,0,,,1,0,0.1\n", from, to, job, task, cpu)
}

// azureDay is two functions: f1 has 3 requests in the first minute, f2 60 in
// the last.
func azureDay() string {
	zeros := strings.Repeat(",0", 1439)
	return strings.Join(azure2019.columns, ",") + "\no,a,f1,http,3" + zeros + "\no,a,f2,timer" + zeros + ",60\n"
}

func azureDayValues(first, last float64) []float64 {
	values := make([]float64, 1440)
	values[0], values[1439] = first/60, last/60
	return values
}
