import { EXIT, printProblems } from './ui/output.ts'

/**
 * Exits with status 130 on SIGINT or SIGTERM.
 *
 * @param cleanUp returns the message to print, which describes the work done so far
 * @returns a function that removes the handlers
 */
export function onInterrupt(cleanUp: () => string): () => void {
  const end = (): never => {
    printProblems([cleanUp()])
    process.exit(EXIT.interrupted)
  }
  process.once('SIGINT', end).once('SIGTERM', end)
  return () => void process.off('SIGINT', end).off('SIGTERM', end)
}
