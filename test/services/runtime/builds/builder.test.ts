import t from 'tap'
import { createBuilder } from '../../../../services/runtime/builds/builder.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

t.test('streams the output of run, but not of read', async (t) => {
  const home = makeTempFolder(t, 'home')
  let output = ''
  const builder = createBuilder({
    home,
    cacheFolder: home,
    allowScripts: false,
    signal: new AbortController().signal,
    onOutput: (text) => {
      output += text
    },
  })
  await builder.run(['/bin/sh', '-c', 'echo $A'], home, { A: 'a' })
  t.equal(output, '$ echo $A\na\n')
  t.equal(await builder.read(['echo', 'b'], home), 'b\n')
  t.equal(output, '$ echo $A\na\n')
  await t.rejects(builder.run(['there-is-none'], home), {
    code: 400,
    message: /^build failed: there-is-none: program not found\n/,
  })
})
