import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SERVICE } from '../http/servers/documents.ts'
import { type Rival, ROOT, type Site, toNodeCommand } from './rival.ts'

/** For responses without Cache-Control. */
const CACHE = '    plugins: [cache: { default_ttl: 1h }]'
/** Number of nodes of each idle service. */
export const IDLE_NODES = 20

/** This gateway, from the same build or sources as this program, with default plugins and all checks enabled. */
export const mx: Rival = {
  name: 'mx',
  title: '**mx**',
  version: () => JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version,
  serves: () => true,
  prepare: (site) => {
    const handler = site.servicePort === undefined && !site.grpc ? 'proxy' : 'rpc'
    return toNodeCommand(
      '../cli/main',
      ...['api', `--handler=${handler}`, '--config', writeConfig(site)],
    )
  },
}

function writeConfig(site: Site): string {
  const { folder, port, backendPort, servicePort, tls, pipeline, workers, accessLog } = site
  const { routes, hasConditions, plugins } = site
  const toRoute = hasConditions ? toConditionalRoute : toPathRoute
  const node = `${site.grpc ? 'grpc://' : ''}127.0.0.1:${backendPort}${pipeline > 1 ? `;pipeline=${pipeline}` : ''}`
  const lines = [
    `address: 127.0.0.1:${port}`,
    `workers: ${workers}`,
    'log_level: warn',
    `access_log: ${accessLog ? join(folder, 'access.log') : 'off'}`,
    ...(site.http2 ? ['listener: node'] : []),
    // The package in the path is the full name of the service.
    ...(site.grpc ? ["namespace: ' '"] : []),
    ...(tls === undefined
      ? []
      : ['enable_tls: true', `tls_cert_file: ${tls.certFile}`, `tls_key_file: ${tls.keyFile}`]),
    ...(plugins.length === 0 ? [] : ['plugins:', ...plugins.map((plugin) => `  - ${plugin}`)]),
    'services:',
    ...(servicePort === undefined
      ? ['  bench:', `    nodes: ["${node}"]`, ...(site.cache ? [CACHE] : [])]
      : [`  ${SERVICE}:`, `    nodes: ["mx://127.0.0.1:${servicePort}"]`]),
    ...Array.from({ length: site.idleServices }, (_, i) => toIdleService(i)),
    ...(routes === 0 ? [] : ['routes:', ...Array.from({ length: routes }, (_, i) => toRoute(i))]),
  ]
  const file = join(folder, 'mx.yaml')
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}

/** Creates a route. The first one matches the request; the others differ in path, host, method or parameters. */
function toPathRoute(index: number): string {
  if (index === 0) return '  - { match: { path: /bench/** }, service: bench }'
  const host = index % 3 === 0 ? `, host: h${index % 100}.test` : ''
  const method = index % 5 === 0 ? ', method: POST' : ''
  return `  - { match: { path: "/r${index % 1000}/{id}/p${index}/**"${host}${method} }, service: bench }`
}

/**
 * The first route matches the request. A quarter of the others have the same path, precede it, and require another
 * header.
 */
function toConditionalRoute(index: number): string {
  const path = `"/r${index}/**"`
  const conditions = [
    `path: ${path}, headers: { cookie: { present: true } }`,
    `path: /bench/**, headers: { x-tenant: t${index} }`,
    `path: ${path}, query: { v: "${index}" }`,
    `path: ${path}, client: 10.${index >> 8}.${index & 255}.0/24`,
  ]
  const match = index === 0 ? 'path: /bench/**, client: loopback' : conditions[index % 4]
  return `  - { match: { ${match} }, service: bench }`
}

function toIdleService(index: number): string {
  const nodes = Array.from(
    { length: IDLE_NODES },
    (_, node) => `10.${index >> 8}.${index & 255}.${node + 1}:8080`,
  )
  return `  idle-${index}: [${nodes.join(', ')}]`
}
