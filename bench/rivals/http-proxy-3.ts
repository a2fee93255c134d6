import { type Rival, readPackageVersion, toNodeCommand } from './rival.ts'

/** http-proxy-3, the most common proxy library for Node.js programs. */
export const httpProxy3: Rival = {
  name: 'http-proxy-3',
  title: 'node:http + http-proxy-3',
  version: () => readPackageVersion('http-proxy-3'),
  serves: ({ accessLog, tls, workers }) => !accessLog && tls === undefined && workers === 1,
  prepare: ({ port, backendPort }) =>
    toNodeCommand('rivals/http-proxy-3-server', String(port), String(backendPort)),
}
