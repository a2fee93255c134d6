import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Rival, readVersion, writeTemplate } from './rival.ts'

const PATHS = ['haproxy', '/usr/sbin/haproxy', '/usr/local/sbin/haproxy']
const VERSION = /version (\d+[\d.]*)/

const find = () =>
  PATHS.find((path) => readVersion([path, '-v'], VERSION) !== undefined) ?? 'haproxy'

/** HAProxy with shared backend connections. */
export const haproxy: Rival = {
  name: 'haproxy',
  title: 'HAProxy, `http-reuse always`',
  version: () => readVersion([find(), '-v'], VERSION),
  serves: ({ accessLog }) => !accessLog,
  prepare(site) {
    const { tls, port } = site
    // HAProxy requires certificate and key in a single file.
    const pemFile = join(site.folder, 'both.pem')
    if (tls !== undefined)
      writeFileSync(
        pemFile,
        readFileSync(tls.certFile, 'utf8') + readFileSync(tls.keyFile, 'utf8'),
        { mode: 0o600 },
      )
    const file = writeTemplate(site, 'haproxy.cfg', {
      ...site,
      port: tls === undefined ? port : undefined,
      tlsPort: tls === undefined ? undefined : port,
      pemFile,
    })
    return [find(), '-f', file]
  },
}
