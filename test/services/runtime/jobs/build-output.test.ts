import { join } from 'node:path'
import t from 'tap'
import { openBuildOutput, readBuildOutput } from '../../../../services/runtime/jobs/build-output.ts'

const NEVER_ABORTED = new AbortController().signal

async function collect(parts: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = []
  for await (const part of parts) all.push(part)
  return Buffer.concat(all).toString()
}

t.test('yields existing and new output until the build ends', async (t) => {
  const path = join(t.testdir({}), 'mx', 'one.log')
  const output = await openBuildOutput(path)
  output.write('one\n')
  const early = collect(output.read(NEVER_ABORTED))
  const parts = output.read(NEVER_ABORTED)[Symbol.asyncIterator]()
  t.equal(Buffer.from((await parts.next()).value!).toString(), 'one\n')
  output.write('two\n')
  t.equal(Buffer.from((await parts.next()).value!).toString(), 'two\n')
  output.write('x'.repeat(200_000))
  await output.end()
  await output.end()
  t.equal(await early, `one\ntwo\n${'x'.repeat(200_000)}`)
  t.equal(await collect(output.read(NEVER_ABORTED)), await early)
  t.equal(await collect(readBuildOutput(path)), await early)
})

t.test('keeps the build running when a reader leaves', async (t) => {
  const output = await openBuildOutput(join(t.testdir({}), 'one.log'))
  const controller = new AbortController()
  const reading = collect(output.read(controller.signal))
  controller.abort()
  t.equal(await reading, '')
  output.write('more')
  await output.end()
  t.equal(await collect(output.read(NEVER_ABORTED)), 'more')
})

t.test('yields nothing for a build without output', async (t) => {
  t.equal(await collect(readBuildOutput(join(t.testdir({}), 'none.log'))), '')
})
