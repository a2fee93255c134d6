import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeSource, runBuilt } from '../../../../fixtures/build-source.ts'
import { listenHttp } from '../../../../fixtures/listen.ts'
import { makeTar } from '../../../../fixtures/tar.ts'

/** A published package with an install script. */
const ARCHIVE = makeTar([
  {
    path: 'package/package.json',
    content: JSON.stringify({
      name: 'greeting',
      version: '1.0.0',
      main: 'index.js',
      scripts: { postinstall: 'echo ran > ran.txt' },
    }),
  },
  { path: 'package/index.js', content: 'module.exports = "hello"' },
])

// Every test starts npm.
t.setTimeout(110_000)

/** Serves packages. */
async function serve(t: Test) {
  let count = 0
  const port = await listenHttp(t, (_, response) => {
    count++
    response.end(ARCHIVE)
  })
  return { count: () => count, url: `http://127.0.0.1:${port}/greeting.tgz` }
}

function toFiles(url: string, overrides: object = {}) {
  const dependencies = { greeting: url }
  const packages = {
    '': { dependencies },
    'node_modules/greeting': { version: '1.0.0', resolved: url, hasInstallScript: true },
  }
  return {
    'package.json': JSON.stringify({ dependencies, ...overrides }),
    'package-lock.json': JSON.stringify({ lockfileVersion: 3, requires: true, packages }),
    'main.ts': "import greeting from 'greeting'\nconsole.log(greeting as string)\n",
  }
}

t.test('installs locked packages once, without install scripts', async (t) => {
  const { url, count } = await serve(t)
  const first = makeSource(t, toFiles(url))
  t.equal(runBuilt(await first.build()), 'hello\n')
  t.match(first.output(), /^\$ npm install .*--omit=dev --ignore-scripts$/m)
  t.ok(lstatSync(join(first.folder, 'node_modules')).isSymbolicLink())
  t.notOk(existsSync(join(first.folder, 'node_modules/greeting/ran.txt')))
  const fetched = count()
  t.ok(fetched > 0)

  const second = makeSource(t, toFiles(url), first.cacheFolder)
  t.equal(runBuilt(await second.build()), 'hello\n')
  t.equal(second.output(), '')
  t.equal(runBuilt(await first.build()), 'hello\n', 'a second build in the same folder')
  t.equal(count(), fetched)
})

t.test('installs only imported packages for a program in a subfolder', async (t) => {
  const { url, count } = await serve(t)
  const files = toFiles(url)
  const { build, output } = makeSource(t, {
    ...files,
    'one/main.ts': 'console.log("one" as string)',
    'two/main.ts': files['main.ts'],
  })
  t.equal(runBuilt(await build({ entrypoint: 'one' })), 'one\n')
  t.equal(count(), 0)
  t.equal(output(), '')
  t.equal(runBuilt(await build({ entrypoint: 'two' })), 'hello\n')
})

t.test('installs a workspace together with the workspaces that it imports', async (t) => {
  const { url } = await serve(t)
  const { build } = makeSource(t, {
    'package.json': '{"workspaces": ["packages/*"]}',
    'packages/lib/package.json': '{"name": "@x/lib", "version": "1.0.0", "main": "lib.ts"}',
    'packages/lib/lib.ts': 'export const text: string = "lib"',
    'packages/app/package.json': JSON.stringify({ dependencies: { greeting: url, '@x/lib': '*' } }),
    'packages/app/main.ts':
      "import greeting from 'greeting'\nimport { text } from '@x/lib'\nconsole.log(greeting, text)\n",
  })
  t.equal(runBuilt(await build({ entrypoint: 'packages/app' })), 'hello lib\n')
})

t.test('runs install scripts if allowed', async (t) => {
  const { url } = await serve(t)
  const { folder, build } = makeSource(t, toFiles(url))
  t.equal(runBuilt(await build({ allowScripts: true })), 'hello\n')
  t.ok(existsSync(join(folder, 'node_modules/greeting/ran.txt')))
  t.ok(lstatSync(join(folder, 'node_modules')).isDirectory(), 'only for the folder of this build')
})

t.test('reports that the newest versions are used without a lock file', async (t) => {
  const { url } = await serve(t)
  const { 'package-lock.json': _, ...files } = toFiles(url)
  const { build, output } = makeSource(t, { ...files, 'yarn.lock': '' })
  t.equal(runBuilt(await build()), 'hello\n')
  t.match(output(), /yarn\.lock is not supported, and there is no package-lock\.json: installing/)
})

t.test('does not install packages that the source includes', async (t) => {
  const { url, count } = await serve(t)
  const bundled = { 'node_modules/greeting/index.js': 'module.exports = "own"' }
  const { build } = makeSource(t, { ...toFiles(url), ...bundled })
  t.equal(runBuilt(await build()), 'own\n')
  t.equal(count(), 0)
})

t.test('fails the build and leaves no files if an installation fails', async (t) => {
  const { cacheFolder, build } = makeSource(t, toFiles('http://127.0.0.1:1/greeting.tgz'))
  process.env['npm_config_registry'] = 'http://127.0.0.1:1/'
  t.teardown(() => delete process.env['npm_config_registry'])
  await t.rejects(build(), { code: 400, message: /^build failed: npm install .*ECONNREFUSED/s })
  t.strictSame(readdirSync(join(cacheFolder, 'node')), [])
})

t.test('does not install the SDK from the development dependencies', async (t) => {
  const { url, count } = await serve(t)
  const devDependencies = { 'mx-gateway': 'file:/nowhere/mx' }
  const main = "import { Service } from 'mx-gateway'\nconsole.log(typeof Service)\n"
  const single = makeSource(t, {
    'package.json': JSON.stringify({ devDependencies: { ...devDependencies, unknown: url } }),
    'main.ts': main,
  })
  t.equal(runBuilt(await single.build()), 'function\n')
  t.equal(single.output(), '', 'npm does not run for development dependencies')
  t.equal(count(), 0)

  const files = toFiles(url, { devDependencies })
  const lock = JSON.parse(files['package-lock.json'])
  lock.packages[''].devDependencies = devDependencies
  lock.packages['node_modules/mx-gateway'] = {
    resolved: '../../nowhere/mx',
    link: true,
    dev: true,
  }
  const locked = makeSource(t, {
    ...files,
    'package-lock.json': JSON.stringify(lock),
    'main.ts': `import greeting from 'greeting'\n${main}console.log(greeting as string)\n`,
  })
  t.equal(runBuilt(await locked.build()), 'function\nhello\n')
})
