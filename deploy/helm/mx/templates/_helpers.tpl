{{- define "mx.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "mx.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "mx.metadata" -}}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "mx.selector" . | nindent 2 }}
  app.kubernetes.io/component: {{ .Values.program }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "mx.serviceAccount" -}}
{{- default (ternary (include "mx.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "mx.isEmbedded" -}}
{{- if and (eq .Values.program "server") (eq .Values.storage "embedded") -}}true{{- end -}}
{{- end -}}

{{- define "mx.hasRuntime" -}}
{{- if and (eq .Values.program "server") .Values.runtime.enabled -}}true{{- end -}}
{{- end -}}

{{/* Settings of mx.yaml. A release of `api` has the drain time of a gateway; a server drains its requests, then its calls. */}}
{{- define "mx.config" -}}
{{- $config := dict "address" ":8080" "admin_address" ":8089" "registry" "kubernetes" "drain_delay" "8s" "drain_timeout" "30s" -}}
{{- if eq .Values.program "server" -}}
{{- $advertised := printf "%s-internal.%s.svc:8081" (include "mx.fullname" .) .Release.Namespace -}}
{{- $config = dict "address" ":8080" "profile" "kubernetes" "advertise_address" $advertised "drain_delay" "8s" "drain_timeout" "20s" -}}
{{- if not .Values.runtime.enabled -}}
{{- $_ := set $config "runtime" "none" -}}
{{- end -}}
{{- if include "mx.isEmbedded" . -}}
{{- $config = merge $config (dict "store" "lmdb" "broker" "memory" "events" "lmdb") -}}
{{- end -}}
{{- end -}}
{{- toYaml (merge dict .Values.config $config) -}}
{{- end -}}

{{/* Rules of the registry `kubernetes` (docs/kubernetes-registry.md). */}}
{{- define "mx.registryRules" -}}
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list, watch]
{{- end -}}

{{/* Rules of the runtime `kubernetes` (docs/kubernetes.md). */}}
{{- define "mx.runtimeRules" -}}
- apiGroups: [apps]
  resources: [deployments]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [secrets]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
{{- end -}}
