import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makePlainProgram } from '../../fixtures/deployer.ts'
import { openPlatformRuntime } from '../../fixtures/platform-runtime.ts'

t.test('returns the source URI of an upload', async (t) => {
  const { upload, client } = await openPlatformRuntime(t)
  t.equal(await upload('shop', makePlainProgram('one')), 'source://shop:latest')
  t.equal(await upload('shop', makePlainProgram('one'), 'v2'), 'source://shop:v2')
  const nameless = client.stream('runtime', 'Source.Upload', [{ data: '' }])
  await t.rejects(nameless.next(), {
    code: 400,
    message: /service\.name is missing in the first message/,
  })
  const empty = client.stream('runtime', 'Source.Upload', [])
  await t.rejects(empty.next(), { code: 400 })
})

t.test('streams the output of a build during and after it', async (t) => {
  const runtime = await openPlatformRuntime(t)
  const gate = join(runtime.folder, 'gate')
  const build = `echo begun && while [ ! -e ${gate} ]; do sleep 0.05; done && echo done`
  const settings = `build: ${build}\ncommand: node main.cjs\nprotocol: http\n`
  await runtime.create('shop', { ...makePlainProgram('one'), 'mx.yaml': settings })
  const output = runtime.client.stream<unknown, { data: string }>('runtime', 'Build.Read', {
    service: { name: 'shop' },
  })
  let text = ''
  for await (const { data } of output) {
    text += Buffer.from(data, 'base64').toString()
    if (/^begun$/m.test(text)) writeFileSync(gate, '')
  }
  t.match(text, /begun[\s\S]*done/)
  await runtime.settled('shop')
  t.equal(await runtime.output('shop'), text)
  await t.rejects(runtime.output('none'), { code: 404 })
})
