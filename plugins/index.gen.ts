// Written by `npm run gen`, not by hand.
import type { PluginDefinition } from '../core/plugin/define.ts'
import apiKeys from './access/api-keys.ts'
import auth from './access/auth.ts'
import basicAuth from './access/basic-auth.ts'
import cors from './access/cors.ts'
import forwardAuth from './access/forward-auth.ts'
import hosts from './access/hosts.ts'
import ipAllow from './access/ip-allow.ts'
import oidc from './access/oidc.ts'
import origins from './access/origins.ts'
import bodyLimit from './http/body-limit.ts'
import forwarded from './http/forwarded.ts'
import headers from './http/headers.ts'
import json from './http/json.ts'
import namespace from './http/namespace.ts'
import redirectHttps from './http/redirect-https.ts'
import timeLimit from './http/time-limit.ts'
import accessLog from './telemetry/access-log.ts'
import proxyStatus from './telemetry/proxy-status.ts'
import requestId from './telemetry/request-id.ts'
import serverTiming from './telemetry/server-timing.ts'
import tracing from './telemetry/tracing.ts'
import rateLimit from './traffic/rate-limit.ts'

/** Files of this folder by name; each exports a declared plugin. */
export const plugins: Readonly<Record<string, PluginDefinition>> = {
  'access-log': accessLog,
  'api-keys': apiKeys,
  auth,
  'basic-auth': basicAuth,
  'body-limit': bodyLimit,
  cors,
  'forward-auth': forwardAuth,
  forwarded,
  headers,
  hosts,
  'ip-allow': ipAllow,
  json,
  namespace,
  oidc,
  origins,
  'proxy-status': proxyStatus,
  'rate-limit': rateLimit,
  'redirect-https': redirectHttps,
  'request-id': requestId,
  'server-timing': serverTiming,
  'time-limit': timeLimit,
  tracing,
}
