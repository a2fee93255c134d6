import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findNginx } from '../rivals/nginx.ts'
import { readVersion, toNodeCommand } from '../rivals/rival.ts'

/** The nodes behind a proxy. */
export interface Backends {
  /** Node addresses as `<host>:<port>`. */
  readonly addresses: readonly string[]
  /** Set if the nodes are the addresses of one name. @default no name */
  readonly dns?: {
    /** Name as `<name>:<port>`. */
    readonly name: string
    /** Address of the name server, `<host>:<port>`. */
    readonly server: string
  }
}

/** A proxy in front of the nodes, configured to handle failing nodes. */
export interface Contestant {
  readonly name: string
  readonly version: () => string | undefined
  /** Writes the configuration and returns the command that starts the proxy in the foreground. */
  readonly prepare: (folder: string, port: number, backends: Backends) => readonly string[]
}

/** mx with additional lines in `mx.yaml`. */
function mx(name: string, ...policies: readonly string[]): Contestant {
  return {
    name,
    version: () => process.version,
    prepare(folder, port, { addresses, dns }) {
      const file = join(folder, 'mx.yaml')
      const nodes = dns === undefined ? addresses : [dns.name]
      const names =
        dns === undefined ? '' : `, dns: { refresh: 1s, servers: [${JSON.stringify(dns.server)}] }`
      const lines = [
        `address: 127.0.0.1:${port}`,
        'handler: proxy',
        'access_log: off',
        'log_level: error',
        'admin_address: none',
        'connect_timeout: 1s',
        'reply_timeout: 1s',
        ...policies,
        'services:',
        `  shop: { nodes: ${JSON.stringify(nodes)}${names} }`,
      ]
      writeFileSync(file, `${lines.join('\n')}\n`)
      return [...toNodeCommand('../cli/main', 'api'), '--config', file]
    },
  }
}

const RETRY = 'retry: { attempts: 3, on: [connect, reset, 500, 502, 503, 504] }'

const nginx: Contestant = {
  name: 'nginx, max_fails',
  version: () => readVersion([findNginx() ?? 'nginx', '-v'], /nginx\/([\d.]+)/),
  prepare(folder, port, { addresses, dns }) {
    const servers = addresses.map((node) => `server ${node} max_fails=3 fail_timeout=10s;`)
    // With a variable, nginx resolves the name again after its TTL.
    const [name, namePort] = dns?.name.split(':') ?? []
    const target =
      dns === undefined
        ? 'proxy_pass http://shop;'
        : `resolver ${dns.server} valid=1s ipv6=off; set $shop ${name}; proxy_pass http://$shop:${namePort};`
    const file = join(folder, 'nginx.conf')
    writeFileSync(
      file,
      `daemon off; pid ${folder}/nginx.pid; error_log /dev/null; events { worker_connections 4096; }
http { access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
fastcgi_temp_path ${folder}/fastcgi; uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
upstream shop { ${servers.join(' ')} keepalive 256; }
server { listen 127.0.0.1:${port} backlog=4096; location / { ${target} proxy_http_version 1.1;
proxy_set_header Connection ""; proxy_connect_timeout 1s; proxy_read_timeout 1s;
proxy_next_upstream error timeout http_500 http_502 http_503 http_504; proxy_next_upstream_tries 3; } } }
`,
    )
    return [findNginx() ?? 'nginx', '-p', folder, '-c', file]
  },
}

const haproxy: Contestant = {
  name: 'HAProxy, observe layer7',
  version: () => readVersion(['haproxy', '-v'], /version (\d+[\d.]*)/),
  prepare(folder, port, { addresses, dns }) {
    const checks = 'check inter 2s fastinter 1s observe layer7 error-limit 3 on-error mark-down'
    const servers =
      dns === undefined
        ? addresses.map((node, i) => `  server s${i} ${node} ${checks}`)
        : [`  server-template s 3 ${dns.name} resolvers names init-addr none ${checks}`]
    const resolvers =
      dns === undefined
        ? ''
        : `resolvers names\n  nameserver local ${dns.server}\n  timeout resolve 1s\n  hold valid 1s\n`
    const file = join(folder, 'haproxy.cfg')
    writeFileSync(
      file,
      `global
  maxconn 8000
${resolvers}defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 1s
  option http-keep-alive
  http-reuse always
  option httpchk GET /
  retries 2
  option redispatch 1
  retry-on all-retryable-errors
frontend front
  bind 127.0.0.1:${port}
  http-request disable-l7-retry if METH_POST
  default_backend back
backend back
  balance roundrobin
${servers.join('\n')}
`,
    )
    return ['haproxy', '-f', file]
  },
}

const caddy: Contestant = {
  name: 'Caddy, fail_duration',
  version: () => readVersion(['caddy', 'version'], /v?(\d+\.[\d.]+)/),
  prepare(folder, port, { addresses, dns }) {
    const file = join(folder, 'Caddyfile')
    const [name, namePort] = dns?.name.split(':') ?? []
    const to = dns === undefined ? addresses.join(' ') : ''
    // Caddy checks only the nodes of a static list.
    const discovery =
      dns === undefined
        ? 'health_uri /\n\t\thealth_interval 2s\n\t\thealth_timeout 1s'
        : `dynamic a ${name} ${namePort} {\n\t\t\tresolvers ${dns.server}\n\t\t\trefresh 1s\n\t\t}`
    writeFileSync(
      file,
      `{
	admin off
	auto_https off
	storage file_system ${folder}
}
http://127.0.0.1:${port} {
	bind 127.0.0.1
	reverse_proxy ${to} {
		lb_policy round_robin
		lb_retries 2
		fail_duration 10s
		max_fails 3
		unhealthy_status 5xx
		${discovery}
		transport http {
			dial_timeout 1s
			response_header_timeout 1s
			keepalive_idle_conns_per_host 256
		}
	}
}
`,
    )
    const env = [`XDG_CONFIG_HOME=${folder}`, `XDG_DATA_HOME=${folder}`, 'GOMAXPROCS=1']
    return ['env', ...env, 'caddy', 'run', '--adapter', 'caddyfile', '--config', file]
  },
}

export const CONTESTANTS: readonly Contestant[] = [
  mx('mx, defaults'),
  mx('mx, retry', RETRY),
  mx('mx, retry and health', RETRY, 'health: { path: /, interval: 2s, unhealthy_interval: 1s }'),
  mx('mx, retry and breaker', RETRY, 'breaker: { min_requests: 10 }'),
  mx('mx, retry and hedge', RETRY, 'hedge: { after: 50ms }'),
  mx('mx, no policy', 'outlier: off', 'retry: off'),
  nginx,
  haproxy,
  caddy,
]
