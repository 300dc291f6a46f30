import { WireMessages } from '../support/postgres-wire.ts';
import { type ProxiedConnection, resetSocket, type Watch } from '../support/tcp-proxy.ts';

/** When a connection is cut: the server never gets COMMIT, gets it, has answered it, or has answered it and neither side hears of the cut. */
export type CommitMoment = 'before' | 'on its way' | 'after' | 'unanswered';

export const commitMoments: readonly CommitMoment[] = ['before', 'on its way', 'after', 'unanswered'];

/** Cuts connections to PostgreSQL at their COMMIT: the client cannot know whether its transaction was committed. */
export class CommitCutter {
  /** How many were cut so. */
  readonly cut: Record<CommitMoment, number> = { before: 0, 'on its way': 0, after: 0, unanswered: 0 };
  #choose: () => CommitMoment | undefined = () => undefined;

  /** Called for each COMMIT that comes by, until `end`. */
  begin(choose: () => CommitMoment | undefined): void {
    this.#choose = choose;
  }

  end(): void {
    this.#choose = () => undefined;
  }

  readonly watch = (connection: ProxiedConnection): Watch => {
    const [up, down] = [new WireMessages('client'), new WireMessages('server')];
    let awaited: CommitMoment | undefined;
    return {
      up: (bytes) => {
        const passed: Buffer[] = [];
        for (const message of up.push(bytes)) {
          const isCommit = message.type === 'Q' && /^\s*commit\b/i.test(message.text());
          const moment = isCommit ? this.#choose() : undefined;
          if (moment === 'before') return this.#reset(connection, moment);
          passed.push(message.bytes);
          if (moment === 'on its way') return this.#sendOff(connection, Buffer.concat(passed));
          awaited = moment ?? awaited;
        }
        return Buffer.concat(passed);
      },
      down: (bytes) => {
        const passed: Buffer[] = [];
        for (const message of down.push(bytes)) {
          if (awaited && message.type === 'C' && message.text() === 'COMMIT') {
            if (awaited === 'after') return this.#reset(connection, awaited);
            this.cut.unanswered += 1;
            awaited = undefined;
            connection.forget();
            return Buffer.alloc(0);
          }
          passed.push(message.bytes);
        }
        return Buffer.concat(passed);
      },
    };
  };

  #reset(connection: ProxiedConnection, moment: CommitMoment): Buffer {
    this.cut[moment] += 1;
    connection.reset();
    return Buffer.alloc(0);
  }

  #sendOff(connection: ProxiedConnection, last: Buffer): Buffer {
    this.cut['on its way'] += 1;
    connection.server.end(last);
    resetSocket(connection.client);
    return Buffer.alloc(0);
  }
}
