import t, { type Test } from 'tap'
import { createUnreachableServiceCheck } from '../../../platform/gateway/warn-unreachable-services.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { startMx } from '../../fixtures/mx.ts'
import { openPlatformRegistry } from '../../fixtures/platform-registry.ts'
import { createService } from '../../fixtures/sdk-services.ts'
import { makeService } from '../../fixtures/services.ts'

function open(settings: { namespace?: string; resolver?: string } = {}) {
  const warnings: string[] = []
  const check = createUnreachableServiceCheck({
    settings: () => ({ namespace: 'ns', resolver: '', ...settings }),
    configured: () => ['www.example.com'],
    onWarning: (message) => warnings.push(message),
  })
  return {
    warnings,
    checkServices: (...names: string[]) => check(names.map((name) => makeService(name, []))),
  }
}

t.test('warns once about services outside the namespace with their number and three names', (t) => {
  const { warnings, checkServices } = open()
  checkServices('ns.a', 'registry', 'www.example.com')
  t.same(warnings, [])
  checkServices('a', 'ns.b', 'nsb', 'c', 'c', 'd')
  checkServices('e')
  t.same(warnings, [
    '4 registered services are outside the namespace ns and unreachable by path: a, nsb, c, ...; --namespace=" " (a space) makes all services reachable',
  ])
  const later = open()
  later.checkServices('late')
  t.match(later.warnings, [/^1 registered service is outside .* by path: late; --namespace/])
  t.end()
})

t.test('does not warn without a namespace or if hosts select it', (t) => {
  for (const settings of [{ namespace: '' }, { resolver: 'subdomain:domain=a.test' }]) {
    const { warnings, checkServices } = open(settings)
    checkServices('a', 'b.c')
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

t.test('a gateway warns about registered services outside its namespace', async (t) => {
  const { address } = await openPlatformRegistry(t)
  const service = createService(t, { name: 'helloworld', registry: `mx://${address}` })
  service.handle('Helloworld', { call: endpoint({ handle: () => ({}) }) })
  await service.start()
  const events = (await start(t, `mx://${address}`))()
  t.equal(events.length, 1)
  t.match(events[0], /1 registered service is outside the namespace go\.mx\.api.*helloworld/)
})
