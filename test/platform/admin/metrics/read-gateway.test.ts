// A gateway in this process and its metrics.
import t, { type Test } from 'tap'
import { RequestMetrics } from '../../../../core/metrics/request-metrics.ts'
import { format } from '../../../../platform/admin/metrics/format.ts'
import { readAll } from '../../../../platform/admin/metrics/read-all.ts'
import { METRICS } from '../../../../platform/admin/metrics/table.ts'
import { configurationFrom } from '../../../../platform/config/load.ts'
import { startGatewayServer } from '../../../../platform/gateway/gateway-server.ts'
import type { ApiParts, GatewayServer } from '../../../../platform/gateway/types.ts'
import { createLog } from '../../../../platform/process/log.ts'
import { readVersion } from '../../../../platform/process/version.ts'
import { createCertificate, createCertificateFolder } from '../../../fixtures/certificates.ts'
import { listenHttp } from '../../../fixtures/listen.ts'
import { findClosedPort } from '../../../fixtures/ports.ts'
import { findScraped, parseScrape, type Scraped } from '../../../fixtures/prometheus.ts'

/** Responses of a backend by path. */
const STATUS: Readonly<Record<string, number>> = { '/greeter/missing': 404, '/greeter/away': 503 }

async function startBackend(t: Test): Promise<string> {
  return `127.0.0.1:${await listenHttp(t, (request, response) => {
    response.statusCode = STATUS[request.url ?? ''] ?? 200
    request.resume().on('end', () => response.end('hello'))
  })}`
}

async function open(
  t: Test,
  variables: Readonly<Record<string, string>>,
  parts: ApiParts = {},
): Promise<GatewayServer> {
  const env = { MX_ADDRESS: '127.0.0.1:0', MX_ACCESS_LOG: 'off', ...variables }
  const configuration = await configurationFrom(new Map(), env)()
  const metrics = new RequestMetrics()
  const api = await startGatewayServer({
    configuration,
    log: createLog('silent'),
    metrics,
    ...parts,
  })
  t.teardown(api.close)
  return api
}

async function scrape(api: GatewayServer): Promise<readonly Scraped[]> {
  return parseScrape((await format(await readAll(api.measured), false)).text)
}

t.test('reports requests, retries, ejections and aborted responses', async (t) => {
  const [node, closedAddress] = [await startBackend(t), `127.0.0.1:${await findClosedPort()}`]
  const api = await open(t, { MX_HANDLER: 'proxy', MX_BACKEND: `greeter=${closedAddress},${node}` })
  const url = `http://127.0.0.1:${api.port}`
  for (const path of ['/greeter/a', '/greeter/b', '/greeter/missing', '/unknown', '/unknown'])
    await (await fetch(url + path)).text()
  await (await fetch(`${url}/greeter/away`, { method: 'PUT', body: 'x'.repeat(150) })).text()
  const scraped = await scrape(api)
  const findValue = (name: string, labels?: Record<string, string>) =>
    findScraped(scraped, name, labels)
  const service = 'go.mx.api.greeter'
  const count = (method: string, status: string, name?: string) =>
    findValue('http_server_request_duration_seconds_count', {
      http_request_method: method,
      http_response_status_class: status,
      ...(name !== undefined && { service: name }),
    })
  t.equal(count('GET', '2xx'), 2)
  t.equal(count('GET', '4xx', service), 1)
  t.equal(count('PUT', '5xx'), 1)
  const unrouted = scraped.filter(
    ({ name, labels }) =>
      name === 'http_server_request_duration_seconds_count' && labels['service'] === undefined,
  )
  t.match(unrouted, [{ labels: { http_response_status_class: '4xx' }, value: 2 }])
  t.equal(findValue('mx_upstream_duration_seconds_count', { service }), 4)
  t.equal(findValue('mx_gateway_duration_seconds_count', { service }), 4)
  t.equal(findValue('http_server_request_body_size_bytes_sum', { service }), 150)
  t.equal(findValue('http_server_response_body_size_bytes_sum', { service }), 4 * 5)
  t.equal(findValue('mx_upstream_retries_total', { service }), 1)
  t.equal(findValue('mx_upstream_ejections_total', { service }), 1)
  t.equal(findValue('mx_upstream_pending_overflow_total', { service }), 0)
  t.equal(findValue('mx_upstream_nodes', { service, state: 'usable' }), 1)
  t.equal(findValue('mx_upstream_nodes', { service, state: 'ejected' }), 1)
  t.equal(findValue('mx_upstream_connections', { service }), 1)
  t.equal(findValue('mx_upstream_active_requests', { service }), 0)
  t.equal(findValue('mx_registry_age_seconds', { service }), 0)
  t.equal(findValue('mx_registry_outage_seconds'), 0)
  t.equal(findValue('mx_route_cache_misses_total'), 2, 'one per name')
  t.equal(findValue('mx_route_cache_hits_total'), 4)
  t.equal(findValue('mx_route_cache_entries'), 2)
  t.equal(findValue('http_server_active_requests'), 0)
  t.ok(findValue('mx_client_connections')! >= 1)
  t.equal(findValue('mx_requests_aborted_total'), 0)
  t.equal(findValue('mx_request_buffered_bytes'), 0)
  t.equal(findValue('mx_request_buffer_overflows_total'), 0)
  t.equal(findValue('mx_build_info', { version: readVersion() }), 1)
  t.ok(findValue('process_resident_memory_bytes')! > 0)
})

t.test('counts a value at a bucket bound in that bucket', async (t) => {
  const node = await startBackend(t)
  const api = await open(t, { MX_HANDLER: 'proxy', MX_BACKEND: `greeter=${node}` })
  for (let i = 0; i < 5; i++) await (await fetch(`http://127.0.0.1:${api.port}/greeter`)).text()
  const name = 'http_server_request_duration_seconds_bucket'
  const buckets = (await scrape(api)).filter((each) => each.name === name)
  const counts = buckets.map(({ value }) => value)
  t.same(
    counts,
    [...counts].sort((a, b) => a - b),
    'cumulative',
  )
  t.equal(buckets.at(-1)?.labels['le'], '+Inf')
  t.equal(counts.at(-1), 5)
})

t.test('reports the expiry of each certificate by name', async (t) => {
  const folder = createCertificateFolder(t)
  const notAfter = new Date(Date.now() + 3_600_000)
  const names = ['a.example.com', 'b.example.com']
  const { certFile, keyFile } = folder.write('a', createCertificate(names, { notAfter }))
  const node = await startBackend(t)
  const api = await open(t, {
    ...{ MX_HANDLER: 'proxy', MX_BACKEND: `greeter=${node}`, MX_ENABLE_TLS: 'true' },
    ...{ MX_TLS_CERT_FILE: certFile, MX_TLS_KEY_FILE: keyFile },
  })
  const scraped = await scrape(api)
  for (const name of names) {
    const end = findScraped(scraped, 'mx_tls_certificate_end_timestamp_seconds', { name })
    t.equal(end, Math.floor(notAfter.getTime() / 1000), name)
  }
})

t.test('reports the default certificate without DNS names', async (t) => {
  const folder = createCertificateFolder(t)
  const { certFile, keyFile } = folder.write('a', createCertificate(['::1']))
  const node = await startBackend(t)
  const api = await open(t, {
    ...{ MX_HANDLER: 'proxy', MX_BACKEND: `greeter=${node}`, MX_ENABLE_TLS: 'true' },
    ...{ MX_TLS_CERT_FILE: certFile, MX_TLS_KEY_FILE: keyFile },
  })
  const name = 'mx_tls_certificate_end_timestamp_seconds'
  t.ok(findScraped(await scrape(api), name, { name: '*' }))
})

t.test('unknown paths and services create no time series', async (t) => {
  const node = await startBackend(t)
  const api = await open(t, { MX_HANDLER: 'proxy', MX_BACKEND: `greeter=${node}` })
  const names = new Set(Object.values(METRICS).map(({ name }) => name))
  const isLocal = ({ name }: Scraped) => names.has(name.replace(/_(bucket|sum|count)$/, ''))
  const url = `http://127.0.0.1:${api.port}`
  await (await fetch(`${url}/x`)).text()
  await scrape(api)
  const before = (await scrape(api)).filter(isLocal).length
  for (let i = 0; i < 200; i++) await (await fetch(`${url}/x${i}?y=${i}`)).text()
  t.equal((await scrape(api)).filter(isLocal).length, before)
})

t.test('counts messages dropped for slow subscribers by queue', async (t) => {
  const api = await open(t, {}, { broker: { dropped: 3, droppedRemotely: 5 } })
  const scraped = await scrape(api)
  const count = (queue: string) =>
    findScraped(scraped, 'mx_broker_messages_dropped_total', { queue })
  t.strictSame([count('server'), count('subscriber')], [3, 5])
})
