import { type Rival, readPackageVersion, toNodeCommand } from './rival.ts'

/** undici, a general HTTP client, as the upstream side of a proxy. */
export const undici: Rival = {
  name: 'undici',
  title: 'node:http + undici `Pool.dispatch`',
  version: () => readPackageVersion('undici'),
  serves: ({ accessLog, tls, workers }) => !accessLog && tls === undefined && workers === 1,
  prepare: ({ port, backendPort }) =>
    toNodeCommand('rivals/undici-server', String(port), String(backendPort)),
}
