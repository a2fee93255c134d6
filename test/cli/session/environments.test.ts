import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import t, { type Test } from 'tap'
import {
  addEnvironment,
  findEnvironment,
  listEnvironments,
} from '../../../cli/session/environments.ts'
import { writeConfig } from '../../../cli/state/config.ts'
import { createCertificate, createCertificateFolder } from '../../fixtures/certificates.ts'
import { openCli } from '../../fixtures/cli.ts'
import { listen } from '../../fixtures/listen.ts'
import { runMx } from '../../fixtures/mx.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

process.env['HOME'] = makeTempFolder(t, 'home')
for (const name of Object.keys(process.env)) if (/^MX_ENV/.test(name)) delete process.env[name]

t.test('local, dev and platform are built in; dev and platform have no address', async (t) => {
  t.same(listEnvironments(), [
    { name: 'dev', address: '' },
    { name: 'local', address: '127.0.0.1:8081' },
    { name: 'platform', address: '' },
  ])
  t.same(findEnvironment(undefined), { name: 'local', address: '127.0.0.1:8081' })
})

t.test('an environment without an address is rejected with advice', async (t) => {
  t.throws(() => findEnvironment('dev'), {
    message:
      'Env "dev" has no address: add one with \'mx env add dev <host:port>\', or set MX_ENV_DEV_ADDRESS',
    status: 2,
  })
  process.env['MX_ENV_DEV_ADDRESS'] = 'dev.example.com'
  t.teardown(() => delete process.env['MX_ENV_DEV_ADDRESS'])
  t.same(findEnvironment('dev'), { name: 'dev', address: 'dev.example.com:443' })
})

t.test('an unknown environment is rejected with a suggestion', async (t) => {
  t.throws(() => findEnvironment('locla'), {
    message: 'Env "locla" not found, did you mean local? See `mx env` for available environments.',
    status: 2,
  })
})

t.test(
  'environments can be added; the flag overrides MX_ENV, which overrides the selected one',
  async (t) => {
    await writeConfig('envs', JSON.stringify({ eu: '10.0.0.1:8081', us: '10.0.0.2:8081' }))
    await writeConfig('env', 'eu')
    t.same(findEnvironment(undefined).name, 'eu')
    process.env['MX_ENV'] = 'us'
    t.teardown(() => delete process.env['MX_ENV'])
    t.same(findEnvironment(undefined), { name: 'us', address: '10.0.0.2:8081' })
    t.same(findEnvironment('local').name, 'local')
  },
)

t.test('the address scheme mxs:// enables TLS', async (t) => {
  const addresses = { a: 'mxs://a.example.com', b: 'mxs://b.example.com:8081', c: 'mx://c:8081' }
  for (const [name, address] of Object.entries(addresses)) await addEnvironment(name, address)
  t.equal(findEnvironment('a').address, 'mxs://a.example.com:443')
  t.equal(findEnvironment('b').address, 'mxs://b.example.com:8081')
  t.equal(findEnvironment('c').address, 'c:8081')
  for (const address of ['https://a:1', 'mxs://', 'mxs://a b', 'mxs://a:0'])
    await t.rejects(addEnvironment('bad', address), { status: 2, message: /or mxs:.* for TLS/ })
})

/** Opens a TLS terminator before a local port; returns its address and certificate file. */
async function openTlsFront(t: Test, address: string) {
  const certificates = createCertificateFolder(t)
  const certificate = createCertificate(['localhost', '127.0.0.1'])
  const { certFile } = certificates.write('front', certificate)
  const port = Number(address.split(':').at(-1))
  const server = createServer(certificate, (socket) => {
    const secondConnection = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [socket, secondConnection] as const,
      [secondConnection, socket] as const,
    ])
      from.on('error', () => to.destroy()).pipe(to)
  })
  const terminator = await listen(t, server)
  return { address: `mxs://localhost:${terminator}`, certFile }
}

t.test('commands connect to a proxy through TLS and reject an untrusted certificate', async (t) => {
  const { runtime, home } = await openCli(t)
  const { address, certFile } = await openTlsFront(t, process.env['MX_ENV_LOCAL_ADDRESS']!)
  runtime.objects.set('mail', { name: 'mail', version: 'v1', source: '', status: 4, metadata: {} })
  const options = { cwd: home, env: { HOME: home, NODE_EXTRA_CA_CERTS: certFile } }
  t.match(await runMx(['env', 'add', 'safe', address], options), { code: 0 })
  t.match(readFileSync(join(home, '.mx', 'config.json'), 'utf8'), address)
  const { code, stdout, stderr } = await runMx(['status', '--env', 'safe'], options)
  t.match({ code, stdout }, { code: 0, stdout: /\nmail\tv1\t/ }, stderr)
  const otherHome = { cwd: home, env: { HOME: home } }
  t.match(await runMx(['status', '--env', 'safe'], otherHome), {
    ...{ code: 4, stdout: '', stderr: new RegExp(`Failed to connect to mx server at ${address}`) },
  })
})
