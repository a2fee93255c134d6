/** Single-file programs for runtime benchmarks that serve plain HTTP (`protocol: http`). */
const LISTENS = `import { createServer } from 'node:http'
createServer((_, reply) => reply.end('here')).listen(process.env.PORT, '127.0.0.1')
`

/** Idle program. */
export const IDLE_PROGRAM: string = LISTENS

/** Logs the Unix time in milliseconds, 20 times per second. */
export const CLOCK_PROGRAM: string = `${LISTENS}setInterval(() => console.log('at ' + Date.now()), 50)
`

/** Lines per second of {@link toFloodProgram}. */
export const FLOOD_RATE = 10_000
const EVERY_MS = 10

/**
 * Returns a program that writes numbered lines, {@link FLOOD_RATE} per second, once a file exists.
 *
 * @param start path of that file.
 */
export function toFloodProgram(lines: number, start: string): string {
  return `${LISTENS}import { existsSync } from 'node:fs'
const flood = () => {
  const startMs = Date.now()
  let next = 0
  const timer = setInterval(() => {
    const due = Math.min(${lines}, (Date.now() - startMs) * ${FLOOD_RATE / 1000})
    let text = ''
    while (next < due) text += 'line ' + next++ + '\\n'
    if (text !== '') process.stdout.write(text)
    if (next === ${lines}) clearInterval(timer)
  }, ${EVERY_MS})
}
const look = setInterval(() => {
  if (!existsSync(${JSON.stringify(start)})) return
  clearInterval(look)
  flood()
}, 50)
`
}
