import { type Rival, readPackageVersion, toNodeCommand } from './rival.ts'

/** uWebSockets answering by itself: what any gateway built on it costs at least. */
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
