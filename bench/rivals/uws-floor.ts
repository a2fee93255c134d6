import { type Rival, readPackageVersion, toNodeCommand } from './rival.ts'

/** uWebSockets with a static response: the minimum cost of any gateway built on it. */
export const uwsFloor: Rival = {
  name: 'uws-floor',
  title: 'uWebSockets alone, no backend (the floor)',
  version: () =>
    [
      `@uwsjs/${process.platform}-${process.arch}-${process.versions.node.split('.')[0]}`,
      '@uwsjs/core',
    ]
      .map(readPackageVersion)
      .find((version) => version !== undefined),
  serves: ({ accessLog, tls, workers }) => !accessLog && tls === undefined && workers === 1,
  prepare: ({ port }) => toNodeCommand('rivals/uws-floor-server', String(port)),
}
