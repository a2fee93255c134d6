// Written by `npm run gen`, not by hand.
import type { PluginDefinition } from '../core/plugin/define.ts'
import accessLog from './access-log.ts'
import apiKeys from './api-keys.ts'
import auth from './auth.ts'
import basicAuth from './basic-auth.ts'
import bodyLimit from './body-limit.ts'
import cors from './cors.ts'
import forwardAuth from './forward-auth.ts'
import forwarded from './forwarded.ts'
import headers from './headers.ts'
import hosts from './hosts.ts'
import ipAllow from './ip-allow.ts'
import namespace from './namespace.ts'
import oidc from './oidc.ts'
import origins from './origins.ts'
import proxyStatus from './proxy-status.ts'
import redirectHttps from './redirect-https.ts'
import requestId from './request-id.ts'
import serverTiming from './server-timing.ts'
import timeLimit from './time-limit.ts'
import tracing from './tracing.ts'

/** Every file of this folder by its name; each exports a declared plugin. */
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
  namespace,
  oidc,
  origins,
  'proxy-status': proxyStatus,
  'redirect-https': redirectHttps,
  'request-id': requestId,
  'server-timing': serverTiming,
  'time-limit': timeLimit,
  tracing,
}
