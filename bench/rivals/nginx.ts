import { join } from 'node:path'
import { type Rival, readVersion, writeTemplate } from './rival.ts'

/** Debian keeps it in a folder that only the administrator's PATH has. */
export const NGINX_PATHS: readonly string[] = ['nginx', '/usr/sbin/nginx', '/usr/local/sbin/nginx']

/** The nginx program; undefined when there is none. */
export function findNginx(): string | undefined {
  return NGINX_PATHS.find((path) => readVersion([path, '-v'], /nginx\/([\d.]+)/) !== undefined)
}

/** nginx `proxy_pass` with kept-alive backend connections: what everything else is compared with. */
export const nginx: Rival = {
  name: 'nginx',
  title: 'nginx `proxy_pass`',
  version: () => readVersion([findNginx() ?? 'nginx', '-v'], /nginx\/([\d.]+)/),
  serves: () => true,
  prepare(site) {
    const file = writeTemplate(site, 'nginx.conf', {
      ...site,
      // A client may need a connection to the backend for itself, and with few to spare nginx closes clients'.
      maxConnections: Math.max(16_384, 3 * site.connections),
      keepAlive: Math.max(128, site.connections),
      certFile: site.tls?.certFile,
      keyFile: site.tls?.keyFile,
      listenOptions: `${site.tls === undefined ? '' : ' ssl'}${site.http2 ? ' http2' : ''}`,
      httpBackend: site.grpc ? undefined : 'http://backend',
      grpcBackend: site.grpc ? 'grpc://backend' : undefined,
      accessLog: site.accessLog
        ? `${join(site.folder, 'access.log')} combined buffer=64k flush=1s`
        : 'off',
    })
    return [findNginx() ?? 'nginx', '-p', site.folder, '-c', file]
  },
}
