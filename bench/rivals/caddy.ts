import { type Rival, readVersion, writeTemplate } from './rival.ts'

/** Caddy `reverse_proxy`. */
export const caddy: Rival = {
  name: 'caddy',
  title: 'Caddy `reverse_proxy`',
  version: () => readVersion(['caddy', 'version'], /v?(\d+\.[\d.]+)/),
  serves: ({ accessLog }) => !accessLog,
  prepare(site) {
    const file = writeTemplate(site, 'Caddyfile', {
      ...site,
      site: `${site.tls === undefined ? 'http' : 'https'}://127.0.0.1:${site.port}`,
      certFile: site.tls?.certFile,
      keyFile: site.tls?.keyFile,
    })
    return ['env', `GOMAXPROCS=${site.workers}`, 'caddy', 'run', '--adapter', 'caddyfile', '--config', file]
  },
}
