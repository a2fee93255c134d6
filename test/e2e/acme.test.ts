import { once } from 'node:events'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { eventually } from '../fixtures/eventually.ts'
import { type RunningMx, startMx } from '../fixtures/mx.ts'
import { type Pebble, startPebble } from '../fixtures/pebble.ts'
import { startPostgres } from '../fixtures/postgres.ts'
import { launchServer } from '../fixtures/server-process.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

/** Another gateway on the same machine. */
const OTHER = '127.0.0.2'

function toWords(pebble: Pebble, hosts: string, at = '127.0.0.1'): readonly string[] {
  return [
    '--enable_acme',
    `--acme_hosts=${hosts}`,
    '--acme_email=admin@example.com',
    `--acme_directory=${pebble.directory}`,
    `--acme_ca_file=${pebble.caFile}`,
    `--acme_address=${at}:${pebble.httpPort}`,
  ]
}

function startApi(t: Test, args: readonly string[]): RunningMx {
  const home = makeTempFolder(t, 'home')
  const mx = startMx(['api', '--address=127.0.0.1:0', '--backend=greeter=127.0.0.1:9', ...args], {
    cwd: home,
    env: { HOME: home },
  })
  t.teardown(async () => {
    if (mx.child.exitCode === null && mx.child.signalCode === null) mx.child.kill('SIGKILL')
    await mx.ended
  })
  return mx
}

/** Serial number of the certificate served for a name if `root` issued it, otherwise the reason. */
async function getCertificate(url: string, servername: string, root: string): Promise<string> {
  const { port, hostname } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, servername, ca: root })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerX509Certificate()!.serialNumber
  } catch (error) {
    return `none: ${(error as NodeJS.ErrnoException).code}`
  } finally {
    socket.destroy()
  }
}

async function waitForCertificate(url: string, host: string, root: string): Promise<string> {
  let serial = ''
  await eventually(async () => {
    serial = await getCertificate(url, host, root)
    return !serial.startsWith('none')
  })
  return serial
}

const countOrders = (pebble: Pebble): number => pebble.count(/Added order "/)

t.test('mx api and mx server serve certificates that they ordered', async (t) => {
  const pebble = await startPebble(t)
  if (pebble === undefined) return
  const root = await pebble.readRoot()

  for (const listener of ['uws', 'node'])
    await t.test(`mx api, listener ${listener}: all worker processes`, async (t) => {
      const host = `${listener}.test`
      const args = [`--listener=${listener}`, '--workers=2', ...toWords(pebble, host)]
      const url = await startApi(t, args).url()
      const serial = await waitForCertificate(url, host, root)
      // Either of the two gateways ordered it.
      for (let i = 0; i < 20; i++) t.equal(await waitForCertificate(url, host, root), serial)
    })

  await t.test('mx server: gateway and dashboard', async (t) => {
    const mx = launchServer(t, ['--profile=local', ...toWords(pebble, 'server.test')])
    await mx.waitUntil(/server ready"/)
    const { gateway, dashboard } = mx.log().find(({ msg }) => msg === 'server ready')!
    t.match(gateway, /^https:/)
    const serial = await waitForCertificate(String(gateway), 'server.test', root)
    t.equal(await waitForCertificate(String(dashboard), 'server.test', root), serial)
  })
})

t.test('two gateways with a shared PostgreSQL store', async (t) => {
  // The second gateway receives the challenges of both gateways.
  const pebble = await startPebble(t, { locate: () => OTHER })
  const postgres = pebble && (await startPostgres(t))
  if (pebble === undefined || postgres === undefined) return
  const root = await pebble.readRoot()
  const store = `--store=${postgres.url()}`
  const first = startApi(t, [store, ...toWords(pebble, 'a.test,b.test')])
  const second = startApi(t, [store, ...toWords(pebble, 'a.test,b.test', OTHER)])
  const urls = await Promise.all([first.url(), second.url()])
  for (const host of ['a.test', 'b.test']) {
    const serials = await Promise.all(urls.map((url) => waitForCertificate(url, host, root)))
    t.equal(serials[0], serials[1], `${host}: the same certificate`)
  }
  t.equal(countOrders(pebble), 2, 'each certificate was ordered once')
  t.equal(pebble.count(/There are now \d+ accounts/), 1, 'with a single account')
  first.child.kill('SIGKILL')
  await first.ended
  t.notMatch(
    await getCertificate(urls[1], 'a.test', root),
    /^none/,
    'the other gateway continues to serve',
  )
  const third = startApi(t, [store, ...toWords(pebble, 'a.test,c.test')])
  const url = await third.url()
  t.notMatch(await waitForCertificate(url, 'c.test', root), /^none/)
  t.equal(await getCertificate(url, 'a.test', root), await getCertificate(urls[1], 'a.test', root))
  t.equal(countOrders(pebble), 3, 'existing certificates are not ordered again')
})
