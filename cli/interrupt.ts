import { EXIT, printProblems } from './ui/output.ts'

/**
 * Ends the program at Ctrl-C, or when it is told to end, as one that left something half done.
 *
 * @param leave tidies up, and says what there is now.
 * @returns ends that.
 */
export function onInterrupt(leave: () => string): () => void {
  const end = (): never => {
    printProblems([leave()])
    process.exit(EXIT.interrupted)
  }
  process.once('SIGINT', end).once('SIGTERM', end)
  return () => void process.off('SIGINT', end).off('SIGTERM', end)
}
