import { type Rival, readVersion, writeTemplate } from './rival.ts'

/** Caddy with `reverse_proxy`. */
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
    // By default, Caddy saves its configuration in the user's home folder.
    const env = [
      `GOMAXPROCS=${site.workers}`,
      `XDG_CONFIG_HOME=${site.folder}`,
      `XDG_DATA_HOME=${site.folder}`,
    ]
    return ['env', ...env, 'caddy', 'run', '--adapter', 'caddyfile', '--config', file]
  },
}
