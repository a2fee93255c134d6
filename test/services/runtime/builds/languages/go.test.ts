import { execFileSync } from 'node:child_process'
import t from 'tap'
import { makeSource, runBuilt } from '../../../../fixtures/build-source.ts'

function hasGo(): boolean {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

// The cache is empty at first, so the standard library is also built.
t.setTimeout(110_000)

const MAIN = 'package main\n\nfunc main() { println("hello " + name) }\n'
const NAME = 'package main\n\nconst name = "go"\n'

t.test('builds a Go program', { skip: hasGo() ? false : 'go is not installed' }, async (t) => {
  const { build, cacheFolder } = makeSource(t, {
    'go.mod': 'module example.org/x\n',
    'cmd/x/main.go': MAIN,
    'cmd/x/name.go': NAME,
    'cmd/x/name_test.go': 'package main\n\nthis is no Go',
  })
  const built = await build({ entrypoint: 'cmd/x' })
  t.match(built, { language: 'go', command: [/\.mx\/program$/] })
  t.equal(
    runBuilt({ ...built, command: ['/bin/sh', '-c', `${built.command[0]} 2>&1`] }),
    'hello go\n',
  )

  const single = makeSource(t, { 'main.go': MAIN, 'name.go': NAME }, cacheFolder)
  t.match(await single.build(), { language: 'go' }, 'builds without a module file')

  const broken = makeSource(t, { 'go.mod': 'module x\n', 'main.go': MAIN }, cacheFolder)
  await t.rejects(broken.build(), {
    code: 400,
    message: /^build failed: go build .*: exit status 1\n.*main\.go:3:\d+: undefined: name$/s,
  })
})
