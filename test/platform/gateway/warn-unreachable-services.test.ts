import t, { type Test } from 'tap'
import { createOutsideCheck } from '../../../platform/gateway/warn-unreachable-services.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { startMx } from '../../fixtures/mx.ts'
import { openPlatformRegistry } from '../../fixtures/platform-registry.ts'
import { createService } from '../../fixtures/sdk-services.ts'
import { makeService } from '../../fixtures/services.ts'

function open(settings: { namespace?: string; resolver?: string } = {}) {
  const warnings: string[] = []
  const check = createOutsideCheck({
    settings: () => ({ namespace: 'ns', resolver: '', ...settings }),
    configured: () => ['www.example.com'],
    onWarning: (message) => warnings.push(message),
  })
  return {
    warnings,
    tell: (...names: string[]) => check(names.map((name) => makeService(name, []))),
  }
}

t.test('services outside the namespace are warned of once: how many, and three names', (t) => {
  const { warnings, tell } = open()
  tell('ns.a', 'registry', 'www.example.com')
  t.same(warnings, [])
  tell('a', 'ns.b', 'nsb', 'c', 'c', 'd')
  tell('e')
  t.same(warnings, [
    '4 services of the registry lie outside the namespace ns, so that no path leads there: a, nsb, c, ...; --namespace=" " (a blank) takes them all',
  ])
  const later = open()
  later.tell('late')
  t.match(later.warnings, [/^1 service of the registry lies outside .* there: late; --namespace/])
  t.end()
})

t.test('where hosts choose the namespace, or there is none, all are inside', (t) => {
  for (const settings of [{ namespace: '' }, { resolver: 'subdomain:domain=a.test' }]) {
    const { warnings, tell } = open(settings)
    tell('a', 'b.c')
    t.same(warnings, [])
  }
  t.end()
})

async function start(t: Test, registry: string): Promise<() => string[]> {
  const mx = startMx(['api', '--address=127.0.0.1:0', `--registry=${registry}`], {
    cwd: t.testdir(),
  })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  await mx.url()
  return () => mx.output.stderr.split('\n').filter((line) => line.includes('outside the namespace'))
}

t.test('a gateway says why it finds no service in its registry', async (t) => {
  const { address } = await openPlatformRegistry(t)
  const service = createService(t, { name: 'helloworld', registry: `mx://${address}` })
  service.handle('Helloworld', { call: endpoint({ handle: () => ({}) }) })
  await service.start()
  const told = (await start(t, `mx://${address}`))()
  t.equal(told.length, 1)
  t.match(told[0], /1 service of the registry lies outside the namespace go\.mx\.api.*helloworld/)
})
