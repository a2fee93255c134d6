import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { request as requestTls } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { configurationFrom } from '../../../../platform/config/load.ts'
import { startGatewayServer } from '../../../../platform/gateway/gateway-server.ts'
import { createLog } from '../../../../platform/process/log.ts'
import { readFlags } from '../../../../platform/settings/flags.ts'
import { createCertificate } from '../../../fixtures/certificates.ts'
import { eventually } from '../../../fixtures/eventually.ts'
import { startMx } from '../../../fixtures/mx.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

interface Target {
  readonly port?: number | undefined
  readonly socketPath?: string
  readonly secure?: boolean
  readonly path?: string
}

function sendRequest({ secure = false, path = '/', ...target }: Target) {
  const send = secure ? requestTls : request
  const headers = { host: 'example.com:80' }
  return new Promise((resolve, reject) => {
    const options = { ...target, path, headers, agent: false, rejectUnauthorized: false }
    const sent = send(options, async (response) => {
      const socket = response.socket as { getPeerCertificate?: () => { subject: { CN: string } } }
      const issuedFor = socket.getPeerCertificate?.().subject.CN
      const body = Buffer.concat(await response.toArray()).toString()
      const { location } = response.headers
      resolve({ status: response.statusCode, body, location, issuedFor })
    })
    sent.on('error', reject).end()
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

const ROUTES = (text: string) => `
routes:
  - { respond: { body: ${text} local }, listeners: [local] }
  - { match: { path: /only }, respond: { body: ${text} only }, listeners: [secure, plain] }
  - { respond: { body: ${text} any } }
`

/** Listeners: redirect, two certificates, plain HTTP, Unix socket. */
async function writeConfig(t: Test, securePort: number) {
  const folder = makeTempFolder(t, 'listen')
  const tls = (name: string): string => {
    const { cert, key } = createCertificate([`${name}.test`])
    writeFileSync(join(folder, `${name}.crt`), cert)
    writeFileSync(join(folder, `${name}.key`), key)
    return `tls: { cert: ${name}.crt, key: ${name}.key }`
  }
  const listen = `listen:
  - { name: web, address: "127.0.0.1:0", https_redirect: true }
  - { name: secure, address: "127.0.0.1:${securePort}", ${tls('first')} }
  - { name: other, address: "127.0.0.1:0", ${tls('second')} }
  - { name: plain, address: "127.0.0.1:0" }
  - { name: local, address: "unix:${folder}/mx.sock" }
`
  const file = join(folder, 'mx.yaml')
  writeFileSync(file, `${listen}${ROUTES('old')}`)
  return { file, folder, listen, socketPath: join(folder, 'mx.sock') }
}

for (const engine of ['uws', 'node']) {
  t.test(`${engine}: each listener has its address, certificate and routes`, async (t) => {
    const securePort = await freePort()
    const { file, listen, socketPath } = await writeConfig(t, securePort)
    const args = [`--config=${file}`, `--listener=${engine}`, '--access_log=off']
    const load = configurationFrom(readFlags(args), {})
    const configuration = await load()
    const lines: string[] = []
    const log = createLog('warn', (line) => {
      lines.push(JSON.parse(line).msg)
      return ''
    })
    const gateway = await startGatewayServer({ configuration, log })
    t.teardown(gateway.close)
    const { otherPorts } = gateway
    t.equal(gateway.port, securePort)
    const secure = { port: securePort, secure: true }
    const plain = { port: otherPorts.get('plain') }
    t.match(await sendRequest(secure), { status: 200, body: 'old any', issuedFor: 'first.test' })
    t.match(await sendRequest({ port: otherPorts.get('other'), secure: true }), {
      ...{ body: 'old any', issuedFor: 'second.test' },
    })
    t.match(await sendRequest({ ...secure, path: '/only' }), { body: 'old only' })
    t.match(await sendRequest({ ...plain, path: '/only' }), { body: 'old only' })
    const other = { port: otherPorts.get('other'), secure: true, path: '/only' }
    t.match(await sendRequest(other), { body: 'old any' }, 'a route of another listener')
    t.match(await sendRequest({ socketPath }), { body: 'old local' })

    const web = { port: otherPorts.get('web') }
    t.match(await sendRequest({ ...web, path: '/a?b=c' }), {
      ...{ status: 308, location: `https://example.com:${securePort}/a?b=c` },
    })
    const challenge = { ...web, path: '/.well-known/acme-challenge/token' }
    t.match(await sendRequest(challenge), { status: 200, body: 'old any' })

    writeFileSync(file, `${listen}${ROUTES('new')}`)
    await gateway.reload(await load())
    t.match(await sendRequest({ ...plain, path: '/only' }), { body: 'new only' })
    t.match(await sendRequest({ socketPath }), { body: 'new local' })
    t.notOk(lines.some((line) => line.includes('restart')))
    writeFileSync(file, `${listen.replace('name: plain, ', 'name: plain2, ')}`)
    await gateway.reload(await load())
    t.ok(lines.includes('restart required to apply: listen'), lines.join())
    await gateway.drain()
    t.notOk(existsSync(socketPath), 'the socket is removed')
  })

  t.test(`${engine}: workers share all listeners`, async (t) => {
    const securePort = await freePort()
    const { folder, socketPath } = await writeConfig(t, securePort)
    const args = ['api', '--workers=2', `--listener=${engine}`, '--access_log=off']
    const mx = startMx(args, { cwd: folder, env: { HOME: folder } })
    t.teardown(async () => {
      if (mx.child.exitCode === null) mx.child.kill('SIGTERM')
      await mx.ended
    })
    t.equal(await mx.url(), `https://127.0.0.1:${securePort}`)
    const [ready] = mx.log().filter(({ msg }) => msg === 'gateway ready')
    const [web = '', , plain = '', unix] = ready!['others'] as string[]
    t.equal(unix, `http://unix:${socketPath}`)
    for (let i = 0; i < 6; i++) {
      t.match(await sendRequest({ port: Number(new URL(plain).port), path: '/only' }), {
        body: 'old only',
      })
      t.match(await sendRequest({ socketPath }), { body: 'old local' })
    }
    t.match(await sendRequest({ port: Number(new URL(web).port) }), { status: 308 })
    mx.child.kill('SIGTERM')
    t.equal(await mx.ended, 0)
    await eventually(() => Promise.resolve(!existsSync(socketPath)))
  })
}

async function startOn(t: Test, path: string) {
  const flags = readFlags([`--address=unix:${path}`, '--access_log=off'])
  const configuration = await configurationFrom(flags, {})()
  const gateway = await startGatewayServer({ configuration, log: createLog('silent') })
  t.teardown(gateway.close)
  return gateway
}

t.test('--address accepts a Unix socket and replaces a stale one', async (t) => {
  const folder = makeTempFolder(t, 'unix')
  const path = join(folder, 'mx.sock')
  const first = startMx(['api', `--address=unix:${path}`, '--access_log=off'], {
    ...{ cwd: folder, env: { HOME: folder } },
  })
  t.equal(await first.url(), `http://unix:${path}`)
  await t.rejects(startOn(t, path), {
    message: `address unix:${path} is in use by another program`,
  })
  first.child.kill('SIGKILL')
  await first.ended
  t.ok(existsSync(path), 'the socket is left behind by the killed process')
  await startOn(t, path)
  t.match(await sendRequest({ socketPath: path, path: '/none' }), { status: 404 })
  mkdirSync(join(folder, 'folder'))
  await t.rejects(startOn(t, join(folder, 'folder')), { message: /exists and is not a socket/ })
})
