import { join } from 'node:path'
import { type Rival, readVersion, writeTemplate } from './rival.ts'

/** Debian installs nginx in a folder that is only in root's PATH. */
export const NGINX_PATHS: readonly string[] = ['nginx', '/usr/sbin/nginx', '/usr/local/sbin/nginx']

/** Path of the nginx program; undefined if it is not installed. */
export function findNginx(): string | undefined {
  return NGINX_PATHS.find((path) => readVersion([path, '-v'], /nginx\/([\d.]+)/) !== undefined)
}

/** nginx with `proxy_pass` and keep-alive backend connections, which is the reference for all ratios. */
export const nginx: Rival = {
  name: 'nginx',
  title: 'nginx `proxy_pass`',
  version: () => readVersion([findNginx() ?? 'nginx', '-v'], /nginx\/([\d.]+)/),
  serves: () => true,
  prepare(site) {
    const file = writeTemplate(site, 'nginx.conf', {
      ...site,
      // Each client may need a backend connection, and nginx closes client connections close to the limit.
      maxConnections: Math.max(16_384, 3 * site.connections),
      keepAlive: Math.max(128, site.connections),
      certFile: site.tls?.certFile,
      keyFile: site.tls?.keyFile,
      listenOptions: `${site.tls === undefined ? '' : ' ssl'}${site.http2 ? ' http2' : ''}`,
      httpBackend: site.grpc ? undefined : 'http://backend',
      grpcBackend: site.grpc ? 'grpc://backend' : undefined,
      gzip: site.gzip ? 'on' : 'off',
      cachePath: site.cache ? `${join(site.folder, 'cache')} keys_zone=responses:10m` : undefined,
      cacheZone: site.cache ? 'responses' : undefined,
      cacheTtl: site.cache ? '1h' : undefined,
      accessLog: site.accessLog
        ? `${join(site.folder, 'access.log')} combined buffer=64k flush=1s`
        : 'off',
    })
    return [findNginx() ?? 'nginx', '-p', site.folder, '-c', file]
  },
}
