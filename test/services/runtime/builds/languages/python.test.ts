import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeSource, runBuilt } from '../../../../fixtures/build-source.ts'
import { makeTempFolder } from '../../../../fixtures/temp-folder.ts'

function hasPython(): boolean {
  try {
    execFileSync('python3', ['-c', 'import venv, ensurepip'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

// Python is slow to start on a busy machine.
t.setTimeout(110_000)

const skip = hasPython() ? false : 'python3 with venv is not installed'

/** Packages a library with one module. */
const MAKE_WHEEL = `
import sys, zipfile
info = 'greeting-1.0.dist-info/'
with zipfile.ZipFile(sys.argv[1] + '/greeting-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('greeting.py', 'TEXT = "hello"\\n')
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: greeting\\nVersion: 1.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
`

t.test('runs a Python program without a build', { skip }, async (t) => {
  const { build } = makeSource(t, { 'app.py': 'print("hello")', 'tool.py': 'print("tool")' })
  const built = await build()
  t.match(built, { command: ['python3', '-u', 'app.py'], language: 'python', env: {} })
  t.equal(runBuilt(built), 'hello\n')
  t.equal(runBuilt(await build({ entrypoint: 'tool.py' })), 'tool\n')
})

t.test('installs requirements once for all builds', { skip }, async (t) => {
  const wheels = makeTempFolder(t, 'wheels')
  execFileSync('python3', ['-c', MAKE_WHEEL, wheels])
  const before = { ...process.env }
  t.teardown(() => {
    process.env = before
  })
  process.env['PIP_NO_INDEX'] = '1'
  process.env['PIP_FIND_LINKS'] = wheels

  const files = {
    'requirements.txt': 'greeting==1.0\n',
    'svc/main.py': 'import greeting; print(greeting.TEXT)',
  }
  const first = makeSource(t, files)
  t.equal(runBuilt(await first.build({ entrypoint: 'svc' })), 'hello\n')
  t.match(first.output(), /Successfully installed greeting-1\.0/)
  const second = makeSource(t, files, first.cacheFolder)
  t.equal(runBuilt(await second.build({ entrypoint: 'svc' })), 'hello\n')
  t.equal(second.output(), '')

  const missing = makeSource(
    t,
    { ...files, 'requirements.txt': 'nobody-made-this\n' },
    first.cacheFolder,
  )
  await t.rejects(missing.build({ entrypoint: 'svc' }), {
    code: 400,
    message: /^build failed: .*pip .*install.*: exit status 1\n.*nobody-made-this/s,
  })
  t.equal(
    readdirSync(join(first.cacheFolder, 'python')).length,
    1,
    'the failed installation is deleted',
  )
})
