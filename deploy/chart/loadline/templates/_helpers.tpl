{{/* Labels of every object. */}}
{{- define "loadline.labels" -}}
app.kubernetes.io/name: loadline
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Labels that selectors ask for. */}}
{{- define "loadline.selector" -}}
app.kubernetes.io/name: loadline
{{- end }}

{{- define "loadline.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "loadline.subject" -}}
- kind: ServiceAccount
  name: loadline
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/*
The rules of a file below files/, which is a copy of one in deploy/: the first
document is the role.
*/}}
{{- define "loadline.rules" -}}
{{- $text := .root.Files.Get (printf "files/%s" .file) | required (printf "files/%s is missing: run make generate-chart" .file) -}}
{{- (index (regexSplit "(?m)^---$" $text -1) 0 | fromYaml).rules | toYaml -}}
{{- end }}

{{/*
A role with its binding: over the cluster, or in each of the namespaces that are
served. Takes root, name and rules.
*/}}
{{- define "loadline.role" -}}
{{- $root := .root -}}{{- $name := .name -}}{{- $rules := .rules -}}
{{- range $namespace := $root.Values.namespaces | default (list "") }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ if $namespace }}Role{{ else }}ClusterRole{{ end }}
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "loadline.labels" $root | nindent 4 }}
rules: {{- $rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ if $namespace }}RoleBinding{{ else }}ClusterRoleBinding{{ end }}
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "loadline.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ if $namespace }}Role{{ else }}ClusterRole{{ end }}
  name: {{ $name }}
subjects: {{- include "loadline.subject" $root | nindent 2 }}
{{- end }}
{{- end }}
