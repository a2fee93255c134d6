import t from 'tap'
import killCommand from '../../../../cli/commands/runtime/kill.ts'
import { openCli } from '../../../fixtures/cli.ts'

const { runtime } = await openCli(t)
const kill = (...words: string[]) => killCommand.run(words)
const add = (name: string, version: string) =>
  runtime.objects.set(`${name}@${version}`, { name, version, source: '', status: 4, metadata: {} })

t.test('mx kill ends the `latest` version, the only version, or the referenced one', async (t) => {
  add('mail', 'latest')
  add('mail', 'v1')
  await kill('mail')
  t.same(runtime.calls.at(-1)!.request, {
    resource: { service: { name: 'mail', version: 'latest' } },
    options: { namespace: 'mx' },
  })
  add('mail', 'v2')
  const written = t.capture(process.stdout, 'write', () => true)
  await kill('mail@v1', '-o', 'json')
  written.restore()
  t.same(JSON.parse(String(written()[0]?.args[0])), { name: 'mail', version: 'v1' })
  await kill('./folder/mail', '--namespace=other')
  t.match(runtime.calls.at(-1)!.request, { options: { namespace: 'other' } })
  t.equal(runtime.objects.size, 0)
})

t.test('without a known name, mx kill ends nothing', async (t) => {
  add('mail', 'latest')
  await t.rejects(kill(), { message: "a name is missing. See 'mx kill --help'", status: 2 })
  await t.rejects(kill('a', 'b'), { message: /^expected one name, got a, b\./, status: 2 })
  await t.rejects(kill('mial'), { message: 'not found: mial, did you mean mail?', status: 1 })
  t.equal(runtime.objects.size, 1)
})
