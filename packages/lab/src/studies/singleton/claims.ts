import type { Claim } from '../study.ts';
import { judgeS1, judgeS2, judgeS3, judgeS4 } from './judges/services.ts';

export const claims: readonly Claim[] = [
  {
    id: 'S1',
    title: 'The service is never active in two processes',
    document:
      'The guarantee that only one instance is active: you only have it active on one server at a time.',
    where: 'What is the SingletonService, and what does it provide?, last paragraph',
    stated: 'the guarantee that only one instance is active',
    grade: 'prose',
    judge: judgeS1,
  },
  {
    id: 'S2',
    title: 'It is active again elsewhere after its process was stopped or killed',
    document:
      'deactivate() is invoked at server shutdown and failover, and activate() starts on another server in the cluster.',
    where: 'What is the SingletonService, and what does it provide?, second and last paragraphs; My Example',
    stated:
      'deactivate() is more or less invoked on the inverse side of those operations: Server shutdown, failover and migration … the behavior of starting activate() on another server in the cluster',
    grade: 'prose',
    judge: judgeS2,
    weak: 'The document names no time, so any system that is slow enough to count to five seconds fulfils it.',
  },
  {
    id: 'S3',
    title: 'All clients reach the same object: 5 + 8 is 13 wherever it is read',
    document:
      'addInternalValue() on server 1 adds 8 and returns 13; the value displayed from server 2 is 13, so it invokes methods of the same object.',
    where: 'My Example, tests after the deployment',
    stated:
      'I used the addInternalValue() method on the EJB hosted on server1 to add 8, returning the total value of 13 … the value displayed is 13, which implies that server2 is indeed invoking methods to the same object as server1',
    grade: 'prose',
    judge: judgeS3,
  },
  {
    id: 'S4',
    title: 'It is first active on its preferred instance, and goes back there',
    document:
      'Set your preferred server: its console has the output of activate(). Shutting the preferred server down shows it on another one.',
    where: 'My Example, deployment and console output',
    stated:
      'Set your preferred server … take a look at your server.out for the preferred server, you should see the System.out.println() from the activate() method',
    grade: 'prose',
    judge: judgeS4,
  },
];
