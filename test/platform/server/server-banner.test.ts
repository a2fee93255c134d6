import { pino } from 'pino'
import t from 'tap'
import { configurationFrom } from '../../../platform/config/load.ts'
import { readVersion } from '../../../platform/process/version.ts'
import {
  formatServerBanner,
  printServerBanner,
  type ServerBannerInput,
} from '../../../platform/server/server-banner.ts'
import { readFlags } from '../../../platform/settings/flags.ts'

const SERVER: ServerBannerInput = {
  address: { host: '127.0.0.1', port: 8080 },
  proxyAddress: { host: '127.0.0.1', port: 8081 },
  webAddress: { host: '127.0.0.1', port: 8082 },
  http2Address: undefined,
  advertised: '127.0.0.1:8081',
  folder: '/home/a/.mx/server',
  adminPassword: undefined,
  services: ['registry', 'store'],
  admin: 'http://127.0.0.1:8089',
}

t.test('the banner contains addresses, data folder and backends', async (t) => {
  const configuration = await configurationFrom(new Map(), {}, 'server')()
  t.equal(
    formatServerBanner(SERVER, configuration),
    `
  mx ${readVersion()} server

  gateway    http://127.0.0.1:8080
  rpc proxy  127.0.0.1:8081
  dashboard  http://127.0.0.1:8082
  admin      http://127.0.0.1:8089
  profile    local
  state      /home/a/.mx/server
  services   registry, store
  log in     mx login admin
  password   not stored; to set a new one, stop the server and run 'mx auth reset'
  backends   memory (registry), lmdb (store), memory (broker), lmdb (events)
  try it     curl http://127.0.0.1:8080/

`,
  )
})

t.test('shows the advertised address and no secrets', async (t) => {
  const args = [
    '--profile=cluster',
    '--registry=consul://token@127.0.0.1:8500',
    '--store=postgres://mx:pass@db/mx',
    '--config_secret_key=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
  ]
  const configuration = await configurationFrom(readFlags(args, 'server'), {}, 'server')()
  const server = { ...SERVER, advertised: '10.0.0.1:8081', folder: undefined }
  const banner = formatServerBanner(server, configuration)
  t.match(banner, /^ {2}advertised +10\.0\.0\.1:8081$/m)
  t.match(banner, /^ {2}state +in memory$/m)
  t.match(banner, 'consul://[hidden]@127.0.0.1:8500 (registry), postgres://[hidden]@db/mx (store)')
  t.notMatch(banner, /token|pass|AAAA/)
})

t.test('suggests a command that is safe in a shell for any address', async (t) => {
  const configuration = await configurationFrom(new Map(), {}, 'server')()
  for (const host of ['::', '0.0.0.0'])
    t.match(
      formatServerBanner({ ...SERVER, address: { host, port: 8080 } }, configuration),
      /^ {2}try it +curl http:\/\/localhost:8080\/$/m,
    )
})

t.test('suggests a login to this server for any address of its RPC proxy', async (t) => {
  const configuration = await configurationFrom(new Map(), {}, 'server')()
  for (const [host, port, commands] of [
    ['0.0.0.0', 8081, 'mx login admin'],
    ['127.0.0.1', 9081, 'mx env add local 127.0.0.1:9081 && mx login admin'],
    ['10.0.0.1', 8081, 'mx env add local 10.0.0.1:8081 && mx login admin'],
    ['::1', 8081, "mx env add local '[::1]:8081' && mx login admin"],
  ] as const)
    t.match(
      formatServerBanner({ ...SERVER, proxyAddress: { host, port } }, configuration),
      `  ${commands}\n`,
    )
})

t.test('logs the file of the initial password, never the password', async (t) => {
  const configuration = await configurationFrom(new Map(), {}, 'server')()
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  t.intercept(process.stderr, 'isTTY', { value: false })
  const password = 'hush-hush-hush'
  for (const file of ['/home/a/.mx/admin_password', undefined])
    printServerBanner({ ...SERVER, adminPassword: { password, file } }, configuration, log)
  t.match(JSON.parse(lines[0]!), { adminPasswordFile: '/home/a/.mx/admin_password' })
  t.equal(lines.length, 2)
  t.notMatch(lines.join(''), password)
})

t.test('the first start shows the admin password on a terminal', async (t) => {
  const configuration = await configurationFrom(new Map(), {}, 'server')()
  const adminPassword = { password: 'abc', file: '/home/a/.mx/admin_password' }
  t.match(
    formatServerBanner({ ...SERVER, adminPassword }, configuration),
    '  password   abc (shown once; stored in /home/a/.mx/admin_password)\n',
  )
})

t.test('a later start names the file of the admin password', async (t) => {
  const configuration = await configurationFrom(new Map(), {}, 'server')()
  const folder = t.testdir({ admin_password: 'abc' })
  const banner = formatServerBanner({ ...SERVER, folder }, configuration)
  t.match(banner, `  password   in ${folder}/admin_password\n`)
  t.notMatch(banner, 'abc')
})
